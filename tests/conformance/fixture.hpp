// Base of all conformance tests: a new, empty store of the kind that HAPAX_TEST_STORE names, a clock that the test
// moves, and short helpers for the store's calls.
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

// How gtest prints these values in a failure.
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
  // Opens the new store. If the environment variable is not set, the test fails; it is never skipped.
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] Store& store() { return *store_; }
  // Another handle on the same store, as another process would have. On the memory store, the same object.
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
  // A session that numbers its claims.
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
  Execution get(const Uuid& id);  // expects the execution to exist
  Status status(const Uuid& id) { return get(id).status; }
  // Everything the store returns about an execution and its attempts, as text for comparison.
  std::string picture(const Uuid& id);
  SweepReport sweep(bool retention = false);
  // Brings an execution to `status` through store calls alone.
  void bring_to(const Uuid& id, Status status);

  std::string url_;
  std::string key_file_;  // encrypting store only
  std::shared_ptr<std::atomic<std::int64_t>> offset_us_ = std::make_shared<std::atomic<std::int64_t>>(0);

 private:
  std::shared_ptr<Store> store_;
  store::Capabilities capabilities_;
  std::string folder_;
  std::string schema_;
};

}  // namespace hapax::conformance
