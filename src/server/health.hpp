// Readiness: named checks that say whether this server can do its work now.
#pragma once

#include "server/signal.hpp"

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

namespace hapax::server {

// Filled before the server starts, then asked by its threads. Anybody may ask, so asking often costs little: the checks run
// on one thread of their own, at most once a second, and their outcome is told for a second. Nobody waits longer than
// `patience`, and no store thread is needed: a store that hangs, with all store threads waiting for it, is told too.
class Readiness {
 public:
  // A probe is answered within 2 s whatever the store does.
  static constexpr Duration patience = std::chrono::milliseconds(1500);

  Readiness() = default;
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;
  ~Readiness();  // waits for a check that runs

  // `check` returns what is wrong, or an empty text; it may block and may throw, which is wrong too. Its text is shown to
  // whoever asks, without a token: no addresses, no names of tenants.
  void add(std::string name, std::function<std::string()> check) {
    checks_.push_back({.name = std::move(name), .look = std::move(check)});
  }
  // The same of what an operator should know, and a server is ready with.
  void add_remark(std::string name, std::function<std::string()> look) {
    checks_.push_back({.name = std::move(name), .look = std::move(look), .counts = false});
  }

  struct Verdict {
    std::string name;
    std::string trouble;  // empty: all is well
    bool counts = true;   // false: the server is ready all the same
  };
  // True: told() knows. False: the checks run now, and `done` is raised when they have ended.
  [[nodiscard]] bool ask(const std::shared_ptr<Signal>& done) const;
  // What the last checks found; of checks that have not ended within `patience`, that they do not answer.
  [[nodiscard]] std::vector<Verdict> told() const;
  // Begins no more checks. False: one still runs after that long, and this object must outlive it.
  [[nodiscard]] bool stop(Duration at_most);

 private:
  using Clock = std::chrono::steady_clock;
  struct Check {
    std::string name;
    std::function<std::string()> look;
    bool counts = true;
  };
  static constexpr std::chrono::seconds told_for{1};
  static constexpr Duration slack =
      std::chrono::milliseconds(100);  // whoever has waited that long is not asked to wait again
  [[nodiscard]] std::vector<Verdict> check() const;
  void run() const;
  [[nodiscard]] bool hangs(Clock::time_point now) const;  // under mutex_

  std::vector<Check> checks_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::thread thread_;  // started by the first who asks
  mutable bool asked_ = false;
  mutable bool ended_ = false;
  bool stopping_ = false;
  mutable Clock::time_point begun_{};
  mutable Clock::time_point looked_{};
  mutable std::vector<Verdict> last_;
  mutable std::vector<std::weak_ptr<Signal>> waiting_;  // as many as there are connections at most
};

}  // namespace hapax::server
