// Readiness: named checks whether this server can do its work now.
#pragma once

#include "http/signal.hpp"

#include <hapax/time.hpp>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hapax::http {

// Checks are added before the server starts; then its threads ask. Clients may probe without a token, so a probe is
// cheap: the checks run on one thread of their own, at most once a second, and their result is reused for a second. A
// probe waits at most `patience` and needs no store thread, so it also answers when a store hangs and all store threads
// wait for it.
class Readiness {
 public:
  // Keeps a probe's answer within 2 s whatever the store does.
  static constexpr Duration patience = std::chrono::milliseconds(1500);

  Readiness() = default;
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;
  ~Readiness();  // waits for a running check

  // `check` returns the trouble, or an empty text; it may block, and an exception is trouble too. The text is shown to
  // callers without a token: no addresses, no names of tenants.
  void add(std::string name, std::function<std::string()> check) {
    checks_.push_back({.name = std::move(name), .run = std::move(check)});
  }
  // A check whose trouble an operator should see, but which does not make the server unready.
  void add_remark(std::string name, std::function<std::string()> run) {
    checks_.push_back({.name = std::move(name), .run = std::move(run), .counts = false});
  }

  struct Verdict {
    std::string name;
    std::string trouble;  // empty: no trouble
    bool counts = true;   // false: the server is ready all the same
  };
  // Returns true when verdicts() are current. Returns false when the checks run now; `done` is raised when they have
  // ended.
  [[nodiscard]] bool ask(const std::shared_ptr<Signal>& done) const;
  // Returns the result of the last checks. Checks that have not ended within `patience` are reported as not answering.
  [[nodiscard]] std::vector<Verdict> verdicts() const;
  // Begins no more checks. Returns false when a check still runs after `at_most`; this object must outlive that check.
  [[nodiscard]] bool stop(Duration at_most);

 private:
  using Clock = std::chrono::steady_clock;
  struct Check {
    std::string name;
    std::function<std::string()> run;
    bool counts = true;
  };
  static constexpr std::chrono::seconds reused_for{1};
  static constexpr Duration slack =
      std::chrono::milliseconds(100);  // a caller that has waited this close to `patience` does not wait again
  [[nodiscard]] std::vector<Verdict> check() const;
  void run() const;
  [[nodiscard]] bool hangs(Clock::time_point now) const;  // under mutex_

  std::vector<Check> checks_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::thread thread_;  // started by the first ask()
  mutable bool asked_ = false;
  mutable bool ended_ = false;
  bool stopping_ = false;
  mutable Clock::time_point begun_{};
  mutable Clock::time_point checked_at_{};
  mutable std::vector<Verdict> last_;
  mutable std::vector<std::weak_ptr<Signal>> waiting_;  // at most one per connection
};

}  // namespace hapax::http
