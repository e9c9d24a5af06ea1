// Writes the history while it happens, and reads it again, key by key, for the checker.
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

// Logs a line before each call and one after it, each with its time. Any thread.
class Scribe {
 public:
  Scribe(const std::string& folder, const std::string& role, int number) : log_(folder, role, number) {}

  // Returns the number to pass to answer().
  std::int64_t begin(const std::vector<std::string>& words);
  void answer(std::int64_t number, const std::vector<std::string>& words);
  // Logged before the session is opened, so that a process that dies leaves its session's ID.
  void session(const Uuid& id);

 private:
  void write(const std::string& lead, std::int64_t number, const std::vector<std::string>& words);

  torture::Log log_;
  std::atomic<std::int64_t> next_{1};
};

// A claim whose answer was lost: it may have taken any execution, until its session was closed.
struct LostClaim {
  Operation claim;
  std::vector<Operation> releases;
};

struct History {
  std::map<int, std::vector<Operation>> keys;
  std::vector<LostClaim> lost_claims;
  std::map<Uuid, int> key_of;                       // every execution that was requested
  std::vector<Uuid> created;                        // executions whose creation was acknowledged
  std::vector<std::pair<Uuid, int>> open_sessions;  // with their process; no close was seen
  std::vector<std::string> strangers;               // answers with executions that were never requested
  std::map<std::string, std::int64_t> counts;       // by call and answer
};

[[nodiscard]] History read_history(const std::string& folder);

// Text for failure messages: one line per operation, in the order of their beginnings.
[[nodiscard]] std::string describe(const std::vector<Operation>& operations);

}  // namespace hapax::herd
