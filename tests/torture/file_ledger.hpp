// The ledger of generated workflows that outlives the writing processes: one file for all, one line per event, each
// appended by one write(2), so the file's order is the order of the events.
#pragma once

#include "torture/lost_calls.hpp"

#include "workflow/ledger.hpp"
#include "workflow/memory_ledger.hpp"

#include <map>
#include <optional>
#include <string>

namespace hapax::torture {

// Written by a worker, from any thread.
class FileLedger final : public generated::Ledger {
 public:
  FileLedger(const std::string& folder, int process);
  ~FileLedger() override;
  FileLedger(const FileLedger&) = delete;
  FileLedger& operator=(const FileLedger&) = delete;

  [[nodiscard]] int effect(const Effect& effect) override;
  void began(const std::string& actor, const Uuid& execution) override;
  void struck(const std::string& actor, const generated::Strike& strike) override;
  void patched(const std::string& actor, int op, bool patched) override;
  void entered(const std::string& actor, generated::Guard guard) override;
  void left(const std::string& actor, generated::Guard guard) override;
  // A fault was injected: the record of this process's last call may be lost.
  void fault();
  // Other trouble with the store or the lease: any call of this process may be made again.
  void trouble();

 private:
  void append(char kind, const std::string& words) const;

  const std::string folder_;
  const std::string process_;
  int file_ = -1;
};

// The process that last executed a run, and the handlers and compensations that the run is inside.
struct Whereabouts {
  int process = 0;
  Uuid execution;
  int handlers = 0;
  int compensations = 0;
};

// Read by the controller: passes new lines on.
class LedgerTail {
 public:
  explicit LedgerTail(const std::string& folder);
  ~LedgerTail();
  LedgerTail(const LedgerTail&) = delete;
  LedgerTail& operator=(const LedgerTail&) = delete;

  void read_into(generated::MemoryLedger& ledger);
  // The faults and trouble that the processes logged about themselves.
  [[nodiscard]] const Fates& fates() const { return fates_; }
  // The time of a process's last line; nothing if it wrote none.
  [[nodiscard]] std::optional<Time> last_seen(int process) const {
    const auto found = last_seen_.find(process);
    return found == last_seen_.end() ? std::nullopt : std::optional(found->second);
  }
  // Where each run is, by actor.
  [[nodiscard]] const std::map<std::string, Whereabouts>& whereabouts() const { return whereabouts_; }

 private:
  void take(const std::string& line, generated::MemoryLedger& ledger);

  int file_ = -1;
  std::string rest_;  // the start of a line that is incomplete so far
  Fates fates_;
  std::map<int, Time> last_seen_;
  std::map<std::string, Whereabouts> whereabouts_;
};

}  // namespace hapax::torture
