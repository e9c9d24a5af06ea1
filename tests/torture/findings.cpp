#include "torture/check.hpp"

#include <cstdio>

namespace hapax::torture {
namespace {

constexpr std::int64_t words_per_rule = 10;

}  // namespace

void Findings::violation(const std::string& rule, const std::string& words) {
  if (++violations_[rule] <= words_per_rule) words_.push_back(rule + ": " + words);
}

std::int64_t Findings::counted(const std::string& what) const {
  const auto at = counts_.find(what);
  return at == counts_.end() ? 0 : at->second;
}

std::int64_t Findings::violations(const std::string& rule) const {
  const auto at = violations_.find(rule);
  return at == violations_.end() ? 0 : at->second;
}

std::int64_t Findings::violations() const {
  std::int64_t all = 0;
  for (const auto& [rule, number] : violations_) all += number;
  return all;
}

void Findings::print() const {
  for (const auto& [what, number] : counts_)
    std::printf("  %-34s %lld\n", what.c_str(), static_cast<long long>(number));
  for (const auto& [rule, number] : violations_) {
    std::printf("VIOLATED %-25s %lld\n", rule.c_str(), static_cast<long long>(number));
  }
  for (const auto& words : words_) std::printf("  %s\n", words.c_str());
}

}  // namespace hapax::torture
