// What every conformance test stands on: a fresh, empty store of the kind HAPAX_TEST_STORE names, a clock that the test
// moves, and short spellings of the seam's verbs.
#pragma once

#include "base/uuid7.hpp"
#include "store/open.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

// How a failed expectation shows them.
namespace hapax {
inline void PrintTo(const Uuid& id, std::ostream* out) { *out << id.to_string(); }
inline void PrintTo(Status status, std::ostream* out) { *out << to_string(status); }
}  // namespace hapax

namespace hapax::conformance {

using namespace std::chrono_literals;
using namespace hapax::model;
using hapax::store::Store;

class Conformance : public ::testing::Test {
 protected:
  // Opens the fresh store. Fails the test, never skips it, when the environment is not set.
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] Store& store() { return *store_; }
  // Another handle on the same store, as another process would have it. On the memory store, the same object.
  [[nodiscard]] std::shared_ptr<Store> second();
  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] const store::Capabilities& capabilities() const { return capabilities_; }

  // Makes time pass on the store, for all handles of this test.
  void advance(Duration by) { offset_us_->fetch_add(by.count()); }

  // ---- Requests ----
  [[nodiscard]] static NewExecution request(const std::string& task = "work", const std::string& queue = "default");
  [[nodiscard]] static NewExecution keyed(const std::string& key, const std::string& input = "null");
  Admission admit(const NewExecution& item);
  Uuid admit_id(const NewExecution& item);  // expects it to be created

  // ---- Workers ----
  // A session whose claims are numbered and whose holdings are remembered.
  struct TestWorker {
    Uuid session;
    std::int64_t claim_number = 0;
    std::vector<QueueRef> queues;
    Duration lease = 30s;
    std::vector<std::string> tasks;  // empty: any
  };
  TestWorker worker(Duration lease = 30s, std::vector<std::string> queues = {"default"});
  std::vector<Claim> claim(TestWorker& worker, int limit = 10, bool alone = true);
  ClaimReply claim_reply(TestWorker& worker, int limit = 10, bool alone = true);
  Claim claim_one(TestWorker& worker);  // expects exactly one
  BeatReply beat(const TestWorker& worker, const std::vector<Claim>& held);

  // ---- Outcomes ----
  [[nodiscard]] static Finish completed(const Claim& claim, const std::string& result = "null");
  [[nodiscard]] static Finish failed(const Claim& claim, const std::string& message = "broken");
  [[nodiscard]] static Finish ending(const Claim& claim, FinishKind kind, Duration delay = Duration{0});
  FinishVerdict finish(const Finish& finish);

  // ---- Looking ----
  Execution get(const Uuid& id);  // expects it to be there
  Status status(const Uuid& id) { return get(id).status; }
  // All that the store tells of an execution and its attempts, to be compared with what it told before.
  std::string picture(const Uuid& id);
  SweepReport sweep(bool retention = false);
  // Brings an execution to a terminal status through the seam, whatever that takes.
  void bring_to(const Uuid& id, Status status);

  std::string url_;
  std::string key_file_;  // of the encrypting store
  std::shared_ptr<std::atomic<std::int64_t>> offset_us_ = std::make_shared<std::atomic<std::int64_t>>(0);

 private:
  std::shared_ptr<Store> store_;
  store::Capabilities capabilities_;
  std::string folder_;
  std::string schema_;
};

}  // namespace hapax::conformance
