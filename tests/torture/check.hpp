// The checker: compares the logs with the store and finds every broken promise.
#pragma once

#include "torture/own_writes.hpp"

#include "store/store.hpp"

#include <map>
#include <string>
#include <vector>

namespace hapax::torture {

// The violations found, and the events counted on the way.
class Findings {
 public:
  void count(const std::string& what, std::int64_t by = 1) { counts_[what] += by; }
  // Counts a violation of `rule`, and keeps the text of the first few of each rule.
  void violation(const std::string& rule, const std::string& words);

  [[nodiscard]] std::int64_t counted(const std::string& what) const;
  [[nodiscard]] std::int64_t violations(const std::string& rule) const;
  [[nodiscard]] std::int64_t violations() const;
  void print() const;

 private:
  std::map<std::string, std::int64_t> counts_;
  std::map<std::string, std::int64_t> violations_;
  std::vector<std::string> words_;
};

// Checks during the run: no execution is both live and finished, no identity has two live holders.
void check_while_running(store::Store& store, const std::string& schema_prefix, Findings& findings);

struct Evidence {
  store::Store& store;
  OwnWrites& writes;
  std::string folder;
  std::string schema_prefix;
};

// Checks when everything has ended. Each rule is a function in check.cpp.
void check_at_the_end(const Evidence& evidence, Findings& findings);

}  // namespace hapax::torture
