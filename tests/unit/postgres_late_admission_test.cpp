// An enqueue whose answer was lost while the server stalled is never admitted twice, however late the server continues.
#include "unit/holding_relay.hpp"
#include "unit/postgres_fixture.hpp"

#include <hapax/error.hpp>

#include <functional>
#include <future>

namespace hapax::store {

namespace {

bool within(std::chrono::seconds at_most, const std::function<bool()>& is_so) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  while (std::chrono::steady_clock::now() < until) {
    if (is_so()) { return true; }
    std::this_thread::sleep_for(5ms);
  }
  return is_so();
}

class LateAdmission : public PostgresStoreTest {
 protected:
  LateAdmission() : relay_(port_of(url_)) {
    const std::string port = std::to_string(port_of(url_));
    std::string relayed = url_;
    relayed.replace(relayed.find(":" + port + "/"), port.size() + 1, ":" + std::to_string(relay_.port()));
    store_ = open(relayed, {});
    // The connection is open and the store knows the queue, so the next request is the insert itself.
    const NewExecution first = request();
    EXPECT_TRUE(store_->admit({&first, 1}).at(0).created());
    EXPECT_EQ(store_->cancel({&first.id, 1}, "warm-up").at(0).verdict, CancelVerdict::cancelled);
  }
  ~LateAdmission() override { store_.reset(); }

  static std::uint16_t port_of(const std::string& url) {
    const std::size_t at = url.find("@127.0.0.1:");
    if (at == std::string::npos) { throw std::runtime_error("the server of the tests is not on 127.0.0.1"); }
    return static_cast<std::uint16_t>(std::stoi(url.substr(at + 11)));
  }

  // Sends an enqueue that the relay keeps from the server, and cuts the connection.
  std::future<std::vector<Admission>> enqueue_unanswered() {
    relay_.hold();
    auto answer = std::async(std::launch::async, [this] { return store_->admit({&item_, 1}); });
    EXPECT_TRUE(within(30s, [&] { return relay_.held_bytes() > 0; }));
    relay_.cut_clients();
    return answer;
  }

  std::string rows_of_item() {
    const std::string where = " WHERE id = '" + item_.id.to_string() + "'";
    return psql_.run("SELECT (SELECT count(*) FROM " + schema_ + ".live" + where + ") + (SELECT count(*) FROM " +
                     schema_ + ".history" + where + ")");
  }

  HoldingRelay relay_;
  NewExecution item_ = request();
};

TEST_F(LateAdmission, AnEnqueueThatTheServerGetsLateIsAdmittedOnce) {
  std::future<std::vector<Admission>> answer = enqueue_unanswered();
  if (answer.wait_for(2s) == std::future_status::ready) {
    // The request was repeated. A worker completes the execution, which leaves `live` before the first request arrives.
    const Claim claim = store_->claim(claim_of(session(), 1, 1)).claims.at(0);
    const Finish done = completed(claim);
    EXPECT_EQ(store_->finish({&done, 1}).at(0), FinishVerdict::accepted);
  }
  relay_.deliver();
  EXPECT_TRUE(within(30s, [&] { return relay_.answered_bytes() > 0; }));
  relay_.cut_server();
  EXPECT_TRUE(answer.get().at(0).created());
  EXPECT_EQ(rows_of_item(), "1");
}

TEST_F(LateAdmission, WhileTheServerMayStillAdmitItTheCommitIsUnknown) {
  std::future<std::vector<Admission>> answer = enqueue_unanswered();
  EXPECT_THROW(std::ignore = answer.get(), CommitUnknown);
  EXPECT_EQ(rows_of_item(), "0");
  relay_.deliver();
  EXPECT_TRUE(within(30s, [&] { return rows_of_item() == "1"; }));
}

TEST_F(LateAdmission, AnEnqueueThatTheServerNeverGetsIsAdmittedAgainOnceItsProcessIsGone) {
  std::future<std::vector<Admission>> answer = enqueue_unanswered();
  relay_.cut_server();
  EXPECT_TRUE(answer.get().at(0).created());
  EXPECT_EQ(rows_of_item(), "1");
}

}  // namespace

}  // namespace hapax::store
