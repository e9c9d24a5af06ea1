// Replay: a run's journal and events, and the place its function has come to. No fiber, no clock, no I/O.
//
// The function asks for one entry after the other. While the journal has one at that place it must be the one asked for,
// else the code is not what wrote the journal: Divergence. Behind its end, what is asked for is new: it is added, and the
// caller brings it to the store.
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

// Both sides, in words. Not an Error: nothing of a user's may catch it as one.
struct Divergence {
  std::string reason;
};

class Replay {
 public:
  // ---- What the store has ------------------------------------------------------------------------------------------
  void load(std::vector<model::JournalEntry> entries, std::vector<model::Event> events);
  [[nodiscard]] std::int32_t recorded() const { return static_cast<std::int32_t>(entries_.size()); }
  [[nodiscard]] std::int64_t seen() const { return seen_; }
  // The store's time of the present claim: what is due by it has happened.
  void set_now(Time now) { now_ = now; }
  [[nodiscard]] Time now() const { return now_; }

  // ---- What is new -------------------------------------------------------------------------------------------------
  [[nodiscard]] const std::vector<model::JournalEntry>& fresh() const { return fresh_; }
  // The same, for the outcome that the run ends with.
  [[nodiscard]] std::vector<model::JournalEntry> take_fresh() { return std::exchange(fresh_, {}); }
  // Whether any of them must be there before anything else is done: all but the first, which only says that it began.
  [[nodiscard]] bool needs_flush() const;
  // The new entries are in the store since `at`.
  void kept(Time at);
  // They went with an outcome that waits: their instant is not known here, so they are read with what happens next.
  void forget_fresh() {
    sent_ = entries_.size() + fresh_.size();
    fresh_.clear();
  }
  // What was read does not have them: that outcome was not kept, and the function is ahead of its journal.
  [[nodiscard]] bool is_short() const { return entries_.size() < sent_; }
  // The function has seen all that was loaded: it is suspended at the journal's end.
  void skip_to_end() { cursor_ = entries_.size(); }

  // ---- The function's side -----------------------------------------------------------------------------------------
  // Before everything else.
  void begin(std::string_view build);
  [[nodiscard]] bool replaying() const { return cursor_ < entries_.size(); }
  // The next entry of the journal, which must be this one; nothing at its end.
  [[nodiscard]] const model::JournalEntry* next(Entry kind, std::string_view name);
  // The same without taking it, and without minding another.
  [[nodiscard]] const model::JournalEntry* peek() const { return replaying() ? &entries_[cursor_] : nullptr; }
  void take() { ++cursor_; }
  // At the end of the journal.
  model::JournalEntry& add(Entry kind, std::string_view name, std::string data);
  [[nodiscard]] const model::JournalEntry& at(std::int32_t position) const;
  // Throws Divergence when the journal goes on although the function waits or ends.
  void expect_end(std::string_view doing) const;

  // ---- What happened -----------------------------------------------------------------------------------------------
  // The end, or refusal, of what the entry started.
  [[nodiscard]] const model::Event* outcome(std::int32_t position) const;
  // When a timer's time is over: none while that is not known, as its entry is new.
  [[nodiscard]] std::optional<Time> due(std::int32_t position, Duration after) const;
  [[nodiscard]] bool is_due(std::int32_t position, Duration after) const;
  // The n-th signal of a name, from 0.
  [[nodiscard]] const model::Event* signal(const std::string& name, std::size_t index) const;
  // Signals are taken by name in their order. A taker that gave up puts its turn back.
  [[nodiscard]] std::size_t take_signal(const std::string& name);
  void put_back_signal(const std::string& name, std::size_t index) { returned_[name].insert(index); }
  [[nodiscard]] const std::optional<model::Event>& cancel() const { return cancel_; }
  // Its payload was given to the function.
  void consume_signal(const std::string& name, std::size_t index) { consumed_[name].insert(index); }
  // Numbers of the signals that the function never got.
  [[nodiscard]] std::vector<std::int64_t> unconsumed() const;
  [[nodiscard]] const std::vector<model::JournalEntry>& entries() const { return entries_; }

 private:
  std::vector<model::JournalEntry> entries_;  // in the store
  std::vector<model::JournalEntry> fresh_;    // not yet
  std::size_t cursor_ = 0;
  std::size_t sent_ = 0;  // entries, when an outcome that waits was last sent
  std::int64_t seen_ = 0;
  Time now_{};
  std::unordered_map<std::int32_t, model::Event> outcomes_;
  std::unordered_map<std::string, std::vector<model::Event>> signals_;
  std::unordered_map<std::string, std::size_t> taken_;
  std::unordered_map<std::string, std::set<std::size_t>> returned_;  // below taken_, and free again
  std::unordered_map<std::string, std::set<std::size_t>> consumed_;
  std::optional<model::Event> cancel_;
};

}  // namespace hapax::workflow
