// Readiness: named checks that say whether this server can do its work now.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace hapax::server {

// Filled before the server starts, then looked at by its threads. Anybody may ask, so asking often costs little: one look at
// a time, its outcome told for a second.
class Readiness {
 public:
  // `check` returns what is wrong, or an empty text; it may block (it runs on a store thread) and may throw, which is
  // wrong too. Its text is shown to whoever asks, without a token: no addresses, no names of tenants.
  void add(std::string name, std::function<std::string()> check) {
    checks_.emplace_back(std::move(name), std::move(check));
  }

  struct Verdict {
    std::string name;
    std::string trouble;  // empty: all is well
  };
  [[nodiscard]] std::vector<Verdict> look() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds told_for{1};
  static constexpr std::chrono::seconds patience{3};
  [[nodiscard]] std::vector<Verdict> check() const;
  [[nodiscard]] std::vector<Verdict> all(const std::string& trouble) const;

  std::vector<std::pair<std::string, std::function<std::string()>>> checks_;
  mutable std::mutex mutex_;
  mutable bool looking_ = false;
  mutable Clock::time_point begun_{};
  mutable Clock::time_point looked_{};
  mutable std::vector<Verdict> last_;
};

}  // namespace hapax::server
