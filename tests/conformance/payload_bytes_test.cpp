// Payloads are read only on request, and one reply's payload bytes are bounded, whatever number is asked for.
#include "conformance/fixture.hpp"

#include "base/limits.hpp"
#include "model/list_page.hpp"
#include "store/brief.hpp"

#include <algorithm>
#include <fstream>

namespace hapax::conformance {

namespace {

constexpr std::size_t large = 900'000;
// Together more than one page or claim may hold, and less than two.
constexpr int many = 26;
static_assert(many * large > limits::list_bytes && many * large < 2 * limits::list_bytes);
static_assert(many * large > limits::claim_bytes && many * large < 2 * limits::claim_bytes);

class PayloadBytesConformance : public Conformance {
 protected:
  // Returned newest first.
  std::vector<Uuid> admit_large(const NewExecution& like) {
    std::vector<Uuid> ids;
    for (int i = 0; i < many; ++i) {
      NewExecution item = like;
      item.id = base::new_uuid7();
      item.input = '"' + std::string(large - 2, static_cast<char>('a' + i)) + '"';
      ids.insert(ids.begin(), admit_id(item));
    }
    return ids;
  }

  void complete_oldest(int count) {
    TestWorker one = worker();
    for (const Claim& held : claim(one, count)) { EXPECT_EQ(finish(completed(held)), FinishVerdict::accepted); }
  }

  static std::size_t bytes_of(const std::vector<Claim>& claims) {
    std::size_t bytes = 0;
    for (const Claim& claim : claims) { bytes += claim.input.size(); }
    return bytes;
  }

  // Claims all executions in two replies. The first reply ends at its byte limit and says that more is due.
  void expect_two_claims(const std::vector<Uuid>& newest_first) {
    TestWorker one = worker();
    const ClaimReply first = claim_reply(one, 100);
    EXPECT_LT(first.claims.size(), newest_first.size());
    EXPECT_GE(bytes_of(first.claims),
              limits::claim_bytes / 2);  // an encrypted payload counts as more bytes than it has when decrypted
    EXPECT_LT(bytes_of(first.claims), limits::claim_bytes + large);
    EXPECT_EQ(first.next_due, Duration{0});
    const ClaimReply second = claim_reply(one, 100);
    EXPECT_NE(second.next_due, Duration{0});
    std::vector<Uuid> claimed;
    for (const ClaimReply* const reply : {&first, &second}) {
      for (const Claim& claim : reply->claims) {
        claimed.push_back(claim.id);
        EXPECT_EQ(claim.input.size(), large);
      }
    }
    EXPECT_EQ(claimed, std::vector<Uuid>(newest_first.rbegin(), newest_first.rend()));
  }
};

TEST_F(PayloadBytesConformance, APageWithPayloadsEndsAtItsBytesAndIsNotTheLast) {
  const std::vector<Uuid> expected = admit_large(request());
  complete_oldest(5);
  std::vector<Uuid> seen;
  ListQuery query{.limit = 100};
  for (int pages = 1;; ++pages) {
    const std::vector<Execution> page = store().list(query);
    std::size_t bytes = 0;
    for (const Execution& execution : page) {
      seen.push_back(execution.id);
      bytes += payload_bytes(execution);
      EXPECT_EQ(execution.input.size(), large);
      EXPECT_EQ(execution.result.has_value(), execution.status == Status::completed);
    }
    EXPECT_LT(bytes, limits::list_bytes + large);
    if (is_last_page(query, page)) { break; }
    ASSERT_LE(pages, many);
    query.after = page.back().id;
  }
  EXPECT_EQ(seen, expected);
}

TEST_F(PayloadBytesConformance, OneLargerThanAPageIsStillShown) {
  NewExecution item = request();
  item.input = '"' + std::string(limits::list_bytes + 10, 'x') + '"';
  const Uuid id = admit_id(item);
  const std::vector<Execution> page = store().list({.limit = 100});
  ASSERT_EQ(page.size(), 1U);
  EXPECT_EQ(page[0].input, item.input);
  TestWorker one = worker();
  EXPECT_EQ(claim_one(one).id, id);
}

// The process's peak memory since the last call, in bytes.
std::int64_t peak_since_last() {
  std::int64_t peak = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) { peak = std::stoll(line.substr(6)) * 1024; }
  }
  std::ofstream("/proc/self/clear_refs") << "5";
  return peak;
}

TEST_F(PayloadBytesConformance, AListWithoutPayloadsReadsNone) {
  const std::vector<Uuid> expected = admit_large(request());
  complete_oldest(5);
  peak_since_last();
  const std::int64_t before = peak_since_last();
  const std::vector<Execution> page = store().list({.payloads = false, .limit = 100});
  const std::int64_t held = peak_since_last() - before;
  ASSERT_EQ(page.size(), expected.size());
  for (std::size_t i = 0; i < page.size(); ++i) {
    EXPECT_EQ(page[i].id, expected[i]);
    EXPECT_TRUE(page[i].input.empty());
    EXPECT_FALSE(page[i].result);
  }
  // The memory store copies payloads one after the other, and a sanitizer keeps freed memory.
  if (capabilities().durable) { EXPECT_LT(held, many * static_cast<std::int64_t>(large) / 2); }
}

TEST_F(PayloadBytesConformance, AClaimEndsAtItsBytesAndSaysThatMoreIsDue) { expect_two_claims(admit_large(request())); }

TEST_F(PayloadBytesConformance, AClaimOfALimitedQueueEndsAtItsBytesToo) {
  QueuePatch patch;
  patch.concurrency = 1000;
  store().configure_queue(request().queue, patch);
  expect_two_claims(admit_large(request()));
}

TEST_F(PayloadBytesConformance, ExecutionsAreReadByTheirIdsWithoutPayloads) {
  std::vector<Uuid> ids;
  for (int i = 0; i < 5; ++i) { ids.push_back(admit_id(request())); }
  bring_to(ids[1], Status::completed);
  NewExecution foreign = request();
  foreign.queue.namespace_name = "other";
  const Uuid theirs = admit_id(foreign);
  const std::vector<Uuid> asked{ids[3], theirs, base::new_uuid7(), ids[1], ids[3]};
  std::vector<Uuid> found;
  for (const Execution& execution : store::list_briefly(store(), "default", asked)) {
    found.push_back(execution.id);
    EXPECT_TRUE(execution.input.empty());
    EXPECT_FALSE(execution.result);
  }
  EXPECT_EQ(found, (std::vector<Uuid>{ids[3], ids[1]}));
  EXPECT_EQ(store::own_ids(store(), "default", asked), (std::vector<Uuid>{ids[3], ids[1], ids[3]}));
  EXPECT_EQ(store::get_briefly(store(), "default", ids[1])->status, Status::completed);
  EXPECT_FALSE(store::get_briefly(store(), "default", theirs));
  EXPECT_TRUE(store::list_briefly(store(), "default", {}).empty());
}

TEST_F(PayloadBytesConformance, AnyNumberOfIdsMayBeAskedFor) {
  std::vector<Uuid> asked;
  for (int i = 0; i < 2 * limits::list_page; ++i) { asked.push_back(base::new_uuid7()); }
  asked.front() = admit_id(request());
  asked.push_back(admit_id(request()));
  EXPECT_EQ(store::own_ids(store(), "default", asked), (std::vector<Uuid>{asked.front(), asked.back()}));
}

}  // namespace

}  // namespace hapax::conformance
