// Readiness: named checks that say whether this server can do its work now.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hapax::server {

// Filled before the server starts, then read by its threads.
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
  std::vector<std::pair<std::string, std::function<std::string()>>> checks_;
};

}  // namespace hapax::server
