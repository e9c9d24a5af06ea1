// The checker: proves from the logs and the store that what was promised held, whoever was killed.
#pragma once

#include "torture/own_writes.hpp"

#include "store/store.hpp"

#include <map>
#include <string>
#include <vector>

namespace hapax::torture {

// What was found wrong, and what was counted on the way.
class Findings {
 public:
  void count(const std::string& what, std::int64_t by = 1) { counts_[what] += by; }
  // Counted under `rule`; the first few of each rule are kept in words.
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

// While the run goes on: no execution both live and finished, no identity with two live holders.
void check_while_running(store::Store& store, const std::string& schema_prefix, Findings& findings);

struct Evidence {
  store::Store& store;
  OwnWrites& writes;
  std::string folder;
  std::string schema_prefix;
};

// When everything has ended. See the rules in check.cpp, one function each.
void check_at_the_end(const Evidence& evidence, Findings& findings);

}  // namespace hapax::torture
