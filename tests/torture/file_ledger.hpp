// A ledger of generated workflows that outlives the processes that write it: one file for all, a line for each thing that
// happens, appended by one write(2); so the file's order is the order in which things happened.
#pragma once

#include "torture/lost_calls.hpp"

#include "workflow/ledger.hpp"
#include "workflow/memory_ledger.hpp"

#include <map>
#include <optional>
#include <string>

namespace hapax::torture {

// A worker's side. Any thread.
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
  // A fault was injected: what this process had in hand may have been lost.
  void fault();
  // It had other trouble with its store or its lease: anything it did may have been done again.
  void trouble();

 private:
  void append(char kind, const std::string& words) const;

  const std::string folder_;
  const std::string process_;
  int file_ = -1;
};

// The process that played a run last, and inside what the run is there.
struct Whereabouts {
  int process = 0;
  Uuid execution;
  int handlers = 0;
  int compensations = 0;
};

// The controller's side: reads what is new.
class LedgerTail {
 public:
  explicit LedgerTail(const std::string& folder);
  ~LedgerTail();
  LedgerTail(const LedgerTail&) = delete;
  LedgerTail& operator=(const LedgerTail&) = delete;

  void read_into(generated::MemoryLedger& ledger);
  // What processes told of themselves.
  [[nodiscard]] const Fates& fates() const { return fates_; }
  // When a process wrote its last line; none: never.
  [[nodiscard]] std::optional<Time> last_seen(int process) const {
    const auto found = last_seen_.find(process);
    return found == last_seen_.end() ? std::nullopt : std::optional(found->second);
  }
  // By actor.
  [[nodiscard]] const std::map<std::string, Whereabouts>& whereabouts() const { return whereabouts_; }

 private:
  void take(const std::string& line, generated::MemoryLedger& ledger);

  int file_ = -1;
  std::string rest_;  // of a line that is not whole yet
  Fates fates_;
  std::map<int, Time> last_seen_;
  std::map<std::string, Whereabouts> whereabouts_;
};

}  // namespace hapax::torture
