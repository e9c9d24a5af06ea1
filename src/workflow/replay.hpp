// Replay: a run's journal and events, and how far its function has come. No fiber, no clock, no I/O.
//
// The function asks for one entry after the other. While the journal has an entry at that place, it must be the
// requested one; otherwise other code wrote the journal: Divergence. At the journal's end the requested entry is new:
// the caller adds it here and writes it to the store.
#pragma once

#include "model/turn.hpp"
#include "workflow/journal.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hapax::workflow {

// The message names the journal's entry and the code's call. Not derived from Error, so that user code does not catch a
// Divergence as one.
struct Divergence {
  std::string reason;
};

class Replay {
 public:
  // ---- What the store has ------------------------------------------------------------------------------------------
  void load(std::vector<model::JournalEntry> entries, std::vector<model::Event> events);
  [[nodiscard]] std::int32_t recorded() const { return static_cast<std::int32_t>(entries_.size()); }
  [[nodiscard]] std::int64_t seen() const { return seen_; }
  // The store's time of the present claim. Timers that are due by then have fired.
  void set_now(Time now) { now_ = now; }
  [[nodiscard]] Time now() const { return now_; }

  // ---- What is new -------------------------------------------------------------------------------------------------
  [[nodiscard]] const std::vector<model::JournalEntry>& fresh() const { return fresh_; }
  // Returns the new entries, moved out for the outcome that ends the run.
  [[nodiscard]] std::vector<model::JournalEntry> take_fresh() { return std::exchange(fresh_, {}); }
  // Whether new entries must be stored before anything else is done: any but a lone `started`, which only says that the
  // run began.
  [[nodiscard]] bool needs_flush() const;
  // Marks the new entries as stored, at the time `at`.
  void kept(Time at);
  // Drops new entries that went with a `waiting` outcome. Their time is not known here, so the next claim reads them
  // with its events.
  void forget_fresh() {
    sent_ = entries_.size() + fresh_.size();
    fresh_.clear();
  }
  // Whether entries sent with a `waiting` outcome are missing from the journal: the store did not keep that outcome,
  // and the function is ahead of its journal.
  [[nodiscard]] bool is_short() const { return entries_.size() < sent_; }
  // Tells that the step behind the journal's end has run already, for another Replay of this journal. The function must
  // ask for that step.
  void inherit(std::string_view step) { inherited_ = step; }
  // Marks all loaded entries as read, for a function that is suspended at the journal's end.
  void skip_to_end() { cursor_ = entries_.size(); }

  // Must be the first call of the function's side.
  void begin(std::string_view build);
  // Whether the function has yet to come to the journal's end, or to an inherited step behind it.
  [[nodiscard]] bool replaying() const { return has_next() || !inherited_.empty(); }
  // Returns the journal's next entry, which must have this kind and name, and moves past it. Returns null at the end,
  // and for the inherited step.
  [[nodiscard]] const model::JournalEntry* next(Entry kind, std::string_view name);
  // Returns the next entry, whatever it is, without moving past it; null at the end.
  [[nodiscard]] const model::JournalEntry* peek() const { return has_next() ? &entries_[cursor_] : nullptr; }
  void take() { ++cursor_; }
  // Adds an entry at the end of the journal.
  model::JournalEntry& add(Entry kind, std::string_view name, std::string data);
  [[nodiscard]] const model::JournalEntry& at(std::int32_t position) const;
  // Throws Divergence when the journal goes on although the function waits or ends.
  void expect_end(std::string_view doing) const;

  // Returns the event that tells the end or the refusal of the execution that the entry started; null until then.
  [[nodiscard]] const model::Event* outcome(std::int32_t position) const;
  // Returns when a timer is due; none while its entry is new, because the entry's time is not known yet.
  [[nodiscard]] std::optional<Time> due(std::int32_t position, Duration after) const;
  [[nodiscard]] bool is_due(std::int32_t position, Duration after) const;
  // Returns the n-th signal of a name, from 0; null until it has come.
  [[nodiscard]] const model::Event* signal(const std::string& name, std::size_t index) const;
  // Returns the number of the signal that the next taker of this name gets. A taker that gives up returns its number.
  [[nodiscard]] std::size_t take_signal(const std::string& name);
  void put_back_signal(const std::string& name, std::size_t index) { returned_[name].insert(index); }
  [[nodiscard]] const std::optional<model::Event>& cancel() const { return cancel_; }
  // Records that the function got this signal's payload.
  void consume_signal(const std::string& name, std::size_t index) { consumed_[name].insert(index); }
  // Returns the numbers of the signals that the function never got.
  [[nodiscard]] std::vector<std::int64_t> unconsumed() const;
  [[nodiscard]] const std::vector<model::JournalEntry>& entries() const { return entries_; }

 private:
  [[nodiscard]] bool has_next() const { return cursor_ < entries_.size(); }
  // The journal's next entry, or the inherited step, as text for a Divergence.
  [[nodiscard]] std::string describe_next() const;

  std::vector<model::JournalEntry> entries_;  // entries in the store
  std::vector<model::JournalEntry> fresh_;    // entries not in the store yet
  std::size_t cursor_ = 0;
  std::string inherited_;  // a step; empty: none
  std::size_t sent_ = 0;   // how many entries there were when a `waiting` outcome was last sent
  std::int64_t seen_ = 0;
  Time now_{};
  std::unordered_map<std::int32_t, model::Event> outcomes_;
  std::unordered_map<std::string, std::vector<model::Event>> signals_;
  std::unordered_map<std::string, std::size_t> taken_;
  std::unordered_map<std::string, std::set<std::size_t>> returned_;  // numbers below taken_ that are free again
  std::unordered_map<std::string, std::set<std::size_t>> consumed_;
  std::optional<model::Event> cancel_;
};

}  // namespace hapax::workflow
