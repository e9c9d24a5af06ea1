// The memory store forgets limit keys that are no longer used.
#include "store/memory/verbs.hpp"

#include <gtest/gtest.h>

namespace hapax::store::memory {
namespace {

using namespace std::chrono_literals;

TEST(MemoryKeys, AKeyWhoseRateIsPaidIsForgottenByTheSweep) {
  State state;
  const Time start{std::chrono::hours(500'000)};
  configure_queue(state, {}, {.key_rate = RateLimit{.count = 1, .per = 1min}}, start);
  NewSession session;
  session.id.bytes[0] = 1;
  session.lease = 1h;
  open_session(state, session, start);
  NewExecution item;
  item.id.bytes[0] = 2;
  item.task = "work";
  item.limit_key = LimitKey{.text = "a"};
  (void)admit(state, item, start);
  const ClaimReply reply =
      claim(state, {.session = session.id, .claim_number = 1, .queues = {item.queue}, .limit = 1, .idle = 1}, start);
  ASSERT_EQ(reply.claims.size(), 1U);
  (void)finish(state, {.id = item.id, .fence = 1, .kind = FinishKind::completed, .result = "null"}, start);
  (void)sweep(state, {.retention = true}, start + 10s);
  EXPECT_EQ(state.queues.at(item.queue).keys.size(), 1U) << "its rate is still to be waited for";
  (void)sweep(state, {.retention = true}, start + 2min);
  EXPECT_TRUE(state.queues.at(item.queue).keys.empty());
}

}  // namespace
}  // namespace hapax::store::memory
