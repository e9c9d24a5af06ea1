#include "workflow/replay.hpp"

#include <utility>

namespace hapax::workflow {

namespace {

constexpr std::size_t usual_entries = 8;

}  // namespace

void Replay::load(std::vector<model::JournalEntry> entries, std::vector<model::Event> events) {
  if (entries_.empty()) { restore_begin(entries); }
  // Entries at known positions are skipped, because this run sent them.
  for (model::JournalEntry& entry : entries) {
    if (static_cast<std::size_t>(entry.position) >= entries_.size()) { entries_.push_back(std::move(entry)); }
  }
  for (model::Event& event : events) {
    if (event.number <= seen_) { continue; }
    seen_ = event.number;
    switch (event.kind) {
      case model::EventKind::signal: {
        auto& named = signals_[event.name];
        named.push_back(std::move(event));
        break;
      }
      case model::EventKind::ended:
      case model::EventKind::refused: {
        const std::int32_t position = event.position;
        outcomes_.emplace(position, std::move(event));
        break;
      }
      case model::EventKind::cancel:
        if (!cancel_) { cancel_ = std::move(event); }
        break;
    }
  }
}

bool Replay::needs_flush() const {
  return !fresh_.empty() && !(fresh_.size() == 1 && entry_of(fresh_.front()) == Entry::started);
}

void Replay::kept(Time at) {
  for (model::JournalEntry& entry : fresh_) {
    entry.at = at;
    entry.start.reset();
    entries_.push_back(std::move(entry));
  }
  fresh_.clear();
  cursor_ = entries_.size();
}

void Replay::begin(std::string_view build) {
  if (has_next()) {
    (void)next(Entry::started, "");
    return;
  }
  entries_.reserve(usual_entries);
  (build.empty() ? entries_ : fresh_).push_back(begin_entry(build));
  cursor_ = entries_.size();
}

const model::JournalEntry* Replay::next(Entry kind, std::string_view name) {
  if (!replaying()) { return nullptr; }
  if (!has_next() && kind == Entry::step && name == inherited_) {
    inherited_.clear();
    return nullptr;
  }
  const auto asks_for = [&] { return describe_next() + ", the code asks for " + describe(kind, name); };
  if (!has_next()) { throw Divergence{asks_for()}; }
  const model::JournalEntry& entry = entries_[cursor_];
  Entry has = entry_of(entry);
  // The code asks for a step, whatever the step's outcome was.
  if (kind == Entry::step && (has == Entry::step_failed || has == Entry::step_retry)) { has = Entry::step; }
  if (has != kind || entry.name != name) { throw Divergence{asks_for()}; }
  ++cursor_;
  return &entry;
}

model::JournalEntry& Replay::add(Entry kind, std::string_view name, std::string data) {
  if (replaying()) { expect_end("does something new: " + describe(kind, name)); }
  model::JournalEntry entry;
  entry.position = static_cast<std::int32_t>(entries_.size() + fresh_.size());
  entry.kind = static_cast<std::uint8_t>(kind);
  entry.name = name;
  entry.data = std::move(data);
  fresh_.push_back(std::move(entry));
  return fresh_.back();
}

const model::JournalEntry& Replay::at(std::int32_t position) const {
  const auto place = static_cast<std::size_t>(position);
  return place < entries_.size() ? entries_[place] : fresh_.at(place - entries_.size());
}

void Replay::expect_end(std::string_view doing) const {
  if (replaying()) { throw Divergence{describe_next() + ", the code " + std::string(doing)}; }
}

std::string Replay::describe_next() const {
  if (!has_next()) { return "step '" + inherited_ + "' was run a moment ago"; }
  const model::JournalEntry& entry = entries_[cursor_];
  return "at place " + std::to_string(cursor_) + " the journal has " + describe(entry_of(entry), entry.name);
}

const model::Event* Replay::outcome(std::int32_t position) const {
  const auto found = outcomes_.find(position);
  return found == outcomes_.end() ? nullptr : &found->second;
}

std::optional<Time> Replay::due(std::int32_t position, Duration after) const {
  const auto place = static_cast<std::size_t>(position);
  return place < entries_.size() ? std::optional(entries_[place].at + after) : std::nullopt;
}

bool Replay::is_due(std::int32_t position, Duration after) const {
  const std::optional<Time> when = due(position, after);
  return when && *when <= now_;
}

const model::Event* Replay::signal(const std::string& name, std::size_t index) const {
  const auto found = signals_.find(name);
  return found == signals_.end() || index >= found->second.size() ? nullptr : &found->second[index];
}

std::size_t Replay::take_signal(const std::string& name) {
  std::set<std::size_t>& returned = returned_[name];
  if (returned.empty()) { return taken_[name]++; }
  const std::size_t index = *returned.begin();
  returned.erase(returned.begin());
  return index;
}

std::vector<std::int64_t> Replay::unconsumed() const {
  std::vector<std::int64_t> numbers;
  for (const auto& [name, events] : signals_) {
    const auto consumed = consumed_.find(name);
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (consumed == consumed_.end() || !consumed->second.contains(i)) { numbers.push_back(events[i].number); }
    }
  }
  return numbers;
}

}  // namespace hapax::workflow
