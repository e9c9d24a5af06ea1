#include "model/retry.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace hapax::model {
namespace {

using namespace std::chrono_literals;

constexpr double nearly_one = 1.0 - 0x1.0p-53;

RetryPolicy with_jitter(Jitter jitter) {
  RetryPolicy policy;
  policy.jitter = jitter;
  return policy;
}

TEST(RetryDelay, DoublesFromHalfASecondToThirtyByDefault) {
  const RetryPolicy policy = with_jitter(Jitter::none);
  EXPECT_EQ(retry_delay(policy, 1, 0.3), 500ms);
  EXPECT_EQ(retry_delay(policy, 2, 0.3), 1s);
  EXPECT_EQ(retry_delay(policy, 3, 0.3), 2s);
  EXPECT_EQ(retry_delay(policy, 6, 0.3), 16s);
  EXPECT_EQ(retry_delay(policy, 7, 0.3), 30s);
  EXPECT_EQ(retry_delay(policy, 1000, 0.3), 30s);
}

TEST(RetryDelay, FullJitterIsAnythingFromZeroToTheDelay) {
  const RetryPolicy policy = with_jitter(Jitter::full);
  EXPECT_EQ(retry_delay(policy, 2, 0.0), 0s);
  EXPECT_EQ(retry_delay(policy, 2, 0.5), 500ms);
  EXPECT_LE(retry_delay(policy, 2, nearly_one), 1s);
  EXPECT_GT(retry_delay(policy, 2, nearly_one), 999ms);
}

TEST(RetryDelay, EqualJitterIsTheUpperHalf) {
  const RetryPolicy policy = with_jitter(Jitter::equal);
  EXPECT_EQ(retry_delay(policy, 2, 0.0), 500ms);
  EXPECT_EQ(retry_delay(policy, 2, 0.5), 750ms);
  EXPECT_LE(retry_delay(policy, 2, nearly_one), 1s);
  EXPECT_GT(retry_delay(policy, 2, nearly_one), 999ms);
}

TEST(RetryDelay, StaysWithinBoundsForOddPolicies) {
  const double infinity = std::numeric_limits<double>::infinity();
  const RetryPolicy odd[] = {
      {.base = 0s, .cap = 30s, .multiplier = 1000, .jitter = Jitter::none},
      {.base = -5s, .cap = 30s, .multiplier = 2, .jitter = Jitter::none},
      {.base = 1s, .cap = -5s, .multiplier = 2, .jitter = Jitter::none},
      {.base = Duration::max(), .cap = Duration::max(), .multiplier = 1e300, .jitter = Jitter::none},
      {.base = 1s, .cap = 30s, .multiplier = infinity, .jitter = Jitter::none},
      {.base = 1s, .cap = 30s, .multiplier = -infinity, .jitter = Jitter::none},
      {.base = 1s, .cap = 30s, .multiplier = std::numeric_limits<double>::quiet_NaN(), .jitter = Jitter::none}};
  for (const RetryPolicy& policy : odd) {
    for (const int attempt : {-1, 0, 1, 2, 3, 1000, std::numeric_limits<int>::max()}) {
      const Duration delay = retry_delay(policy, attempt, 0.5);
      EXPECT_GE(delay, 0s);
      EXPECT_LE(delay, limits::delay_max);
    }
  }
  EXPECT_EQ(retry_delay(odd[0], 1000, 0.5), 0s);
}

Claim claim_at(int attempt, int max_attempts, int lost = 0) {
  Claim claim;
  claim.id.bytes[0] = 5;
  claim.fence = 11;
  claim.attempt = attempt;
  claim.max_attempts = max_attempts;
  claim.lost = lost;
  claim.retry = with_jitter(Jitter::none);
  return claim;
}

const Failure timeout{.error = {.type = "Timeout", .message = "no answer", .detail = "line 7"}};

TEST(FinishFailure, RetriesWhileAttemptsAreLeft) {
  const Finish finish = finish_failure(claim_at(2, 3), timeout, 0.0, 40ms);
  EXPECT_EQ(finish.kind, FinishKind::retry);
  EXPECT_EQ(finish.delay, 1s);
  EXPECT_EQ(finish.id, claim_at(2, 3).id);
  EXPECT_EQ(finish.fence, 11);
  EXPECT_EQ(finish.error, timeout.error);
  EXPECT_EQ(finish.ran_for, 40ms);
}

TEST(FinishFailure, FailsAtTheLastAttempt) {
  const Finish finish = finish_failure(claim_at(3, 3), timeout, 0.0, 40ms);
  EXPECT_EQ(finish.kind, FinishKind::failed);
  EXPECT_EQ(finish.error, timeout.error);
  EXPECT_EQ(finish.ran_for, 40ms);
  EXPECT_EQ(finish_failure(claim_at(1, 1), timeout, 0.0, 0s).kind, FinishKind::failed);
}

TEST(FinishFailure, LostAttemptsAreNotSpentOnes) {
  const Finish finish = finish_failure(claim_at(4, 3, 2), timeout, 0.0, 0s);
  EXPECT_EQ(finish.kind, FinishKind::retry);
  EXPECT_EQ(finish.delay, 1s);
  EXPECT_EQ(finish_failure(claim_at(5, 3, 2), timeout, 0.0, 0s).kind, FinishKind::failed);
}

TEST(FinishFailure, PermanentFailuresAreNeverRetried) {
  Failure failure = timeout;
  failure.permanent = true;
  failure.retry_after = 1s;
  EXPECT_EQ(finish_failure(claim_at(1, 4), failure, 0.0, 0s).kind, FinishKind::failed);
}

TEST(FinishFailure, TheHandlersOwnDelayCountsWithinBounds) {
  Failure failure = timeout;
  failure.retry_after = 5min;
  EXPECT_EQ(finish_failure(claim_at(1, 4), failure, 0.9, 0s).delay, 5min);
  EXPECT_EQ(finish_failure(claim_at(4, 4), failure, 0.9, 0s).kind, FinishKind::failed);
  failure.retry_after = -1s;
  EXPECT_EQ(finish_failure(claim_at(1, 4), failure, 0.9, 0s).delay, 0s);
  failure.retry_after = Duration::max();
  EXPECT_EQ(finish_failure(claim_at(1, 4), failure, 0.9, 0s).delay, limits::delay_max);
}

TEST(FinishFailure, WithoutAPolicyTheDefaultCounts) {
  Claim claim = claim_at(1, 4);
  claim.retry.reset();
  EXPECT_EQ(finish_failure(claim, timeout, 0.5, 0s).delay, 250ms);
}

TEST(StoredRetry, IsShortTextThatReadsBack) {
  EXPECT_EQ(encode_retry(RetryPolicy{}), "500000:30000000:2:full");
  for (const RetryPolicy& policy :
       {RetryPolicy{}, RetryPolicy{.base = 1us, .cap = 24h, .multiplier = 1.1, .jitter = Jitter::equal},
        RetryPolicy{.base = 0s, .cap = 0s, .multiplier = 1, .jitter = Jitter::none}}) {
    EXPECT_EQ(decode_retry(encode_retry(policy)), policy);
  }
}

TEST(StoredRetry, OtherTextIsRefused) {
  for (const std::string_view text : {"", "1:2:3", "1:2:3:loud", "1:2:3:full:", "a:2:3:full", "1:2:x:full",
                                      "1 :2:3:full", "99999999999999999999:2:3:full"}) {
    EXPECT_THROW((void)decode_retry(text), InvalidArgument) << text;
  }
}

}  // namespace
}  // namespace hapax::model
