#include "server/health.hpp"

#include <hapax/error.hpp>

#include <exception>

namespace hapax::server {

std::vector<Readiness::Verdict> Readiness::check() const {
  std::vector<Verdict> verdicts;
  for (const auto& [name, check] : checks_) {
    Verdict verdict{.name = name, .trouble = {}};
    try {
      verdict.trouble = check();
    } catch (const Error& error) {
      // Its name only: texts tell where the store is.
      verdict.trouble = error.name();
    } catch (const std::exception&) { verdict.trouble = "the check itself failed"; }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

std::vector<Readiness::Verdict> Readiness::all(const std::string& trouble) const {
  std::vector<Verdict> verdicts;
  for (const auto& [name, check] : checks_) { verdicts.push_back({.name = name, .trouble = trouble}); }
  return verdicts;
}

std::vector<Readiness::Verdict> Readiness::look() const {
  {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    if (looking_) {
      // A store that hangs must not take a thread for each who asks.
      if (now - begun_ > patience) { return all("does not answer"); }
      return last_.empty() ? all("is being looked at") : last_;
    }
    if (!last_.empty() && now - looked_ < told_for) { return last_; }
    looking_ = true;
    begun_ = now;
  }
  std::vector<Verdict> verdicts = check();
  const std::lock_guard lock(mutex_);
  looking_ = false;
  looked_ = Clock::now();
  last_ = verdicts;
  return verdicts;
}

}  // namespace hapax::server
