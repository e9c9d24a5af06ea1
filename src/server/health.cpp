#include "server/health.hpp"

#include <exception>

namespace hapax::server {

std::vector<Readiness::Verdict> Readiness::look() const {
  std::vector<Verdict> verdicts;
  for (const auto& [name, check] : checks_) {
    Verdict verdict{.name = name, .trouble = {}};
    try {
      verdict.trouble = check();
    } catch (const std::exception& error) { verdict.trouble = error.what(); }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace hapax::server
