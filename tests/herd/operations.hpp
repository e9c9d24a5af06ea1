// The history as it is written down while it happens, and read again, key by key, for the checker.
#pragma once

#include "herd/model.hpp"

#include "base/sha256.hpp"
#include "torture/log.hpp"

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hapax::herd {

inline constexpr int operations_per_key = 8;
inline constexpr int neighbourhood = 16;

// The identity of a key of the history.
[[nodiscard]] base::Digest hash_of(int key);

// A line before each call and one after it, each with its instant. Any thread.
class Scribe {
 public:
  Scribe(const std::string& folder, const std::string& role, int number) : log_(folder, role, number) {}

  // Returns the number to answer.
  std::int64_t begin(const std::vector<std::string>& words);
  void answer(std::int64_t number, const std::vector<std::string>& words);
  // Written before it is opened, so that whoever dies leaves its name.
  void session(const Uuid& id);

 private:
  void write(const std::string& lead, std::int64_t number, const std::vector<std::string>& words);

  torture::Log log_;
  std::atomic<std::int64_t> next_{1};
};

// A claim whose answer nobody saw: it may have taken any execution, until its session was closed.
struct LostClaim {
  Operation claim;
  std::vector<Operation> releases;
};

struct History {
  std::map<int, std::vector<Operation>> keys;
  std::vector<LostClaim> lost_claims;
  std::map<Uuid, int> key_of;                       // every execution that was asked for
  std::vector<Uuid> created;                        // those whose creation was acknowledged
  std::vector<std::pair<Uuid, int>> open_sessions;  // with the process that opened them; never seen closed
  std::vector<std::string> strangers;               // answers that name what nobody asked for
  std::map<std::string, std::int64_t> counts;       // by what was done and answered
};

[[nodiscard]] History read_history(const std::string& folder);

// For people: one line an operation, in the order of their beginnings.
[[nodiscard]] std::string describe(const std::vector<Operation>& operations);

}  // namespace hapax::herd
