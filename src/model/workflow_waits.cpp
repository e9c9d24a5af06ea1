#include "model/workflow_waits.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <set>

namespace hapax::model {

namespace {

using nlohmann::json;
using Kind = JournalKind;

Kind kind_of(const JournalEntry& entry) { return static_cast<Kind>(entry.kind); }

std::int64_t number(const JournalEntry& entry, const char* member) {
  const json value = json::parse(entry.data, nullptr, false);
  if (!value.is_object()) { return 0; }
  const auto found = value.find(member);
  return found != value.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

class Reader {
 public:
  Reader(const History& history, Time now) : entries_(history.entries), now_(now) {
    for (const Event& event : history.events) {
      if (event.kind == EventKind::signal) { ++signals_[event.name]; }
      if (event.kind == EventKind::ended || event.kind == EventKind::refused) { ended_.insert(event.position); }
    }
  }

  WorkflowWaits run() {
    for (std::size_t place = 0; place < entries_.size(); ++place) { read(place); }
    for (const auto& [name, left] : signals_) {
      if (left > 0) { waits_.not_taken.push_back(name); }
    }
    return std::move(waits_);
  }

 private:
  void read(std::size_t place) {
    const JournalEntry& entry = entries_[place];
    switch (kind_of(entry)) {
      case Kind::signal: signal(place); break;
      case Kind::timer: open_until(entry, entry.at + Duration(number(entry, "us"))); break;
      case Kind::step_retry:
        if (place + 1 == entries_.size()) { open_until(entry, entry.at + Duration(number(entry, "delay_us"))); }
        break;
      case Kind::task:
      case Kind::child:
        if (!ended_.contains(entry.position)) { add(entry, std::nullopt); }
        break;
      case Kind::invalid: {
        const json value = json::parse(entry.data, nullptr, false);
        if (value.is_object()) { waits_.invalid = value.value("error", json::object()).value("message", ""); }
        break;
      }
      default: break;
    }
  }

  // A wait with a timeout has three entries: the signal, its timer, and the choice of the first of the two.
  void signal(std::size_t place) {
    const JournalEntry& entry = entries_[place];
    const bool timed = number(entry, "timeout_us") > 0 && place + 1 < entries_.size();
    if (timed && place + 2 < entries_.size()) {
      const JournalEntry& choice = entries_[place + 2];
      if (kind_of(choice) == Kind::choice && number(choice, "index") != 0) { return; }
    }
    if (signals_[entry.name]-- > 0) { return; }
    signals_[entry.name] = 0;
    add(entry,
        timed ? std::optional(entries_[place + 1].at + Duration(number(entries_[place + 1], "us"))) : std::nullopt);
    timeout_of_open_ = timed ? entries_[place + 1].position : -1;
  }

  void open_until(const JournalEntry& entry, Time until) {
    // The timer of a wait for a signal is already reported with the signal.
    if (until > now_ && entry.position != timeout_of_open_ && !is_timeout(entry)) { add(entry, until); }
  }

  // Whether this timer belongs to a wait for a signal.
  [[nodiscard]] bool is_timeout(const JournalEntry& entry) const {
    for (std::size_t place = 1; place < entries_.size(); ++place) {
      if (entries_[place].position != entry.position) { continue; }
      return kind_of(entries_[place - 1]) == Kind::signal && number(entries_[place - 1], "timeout_us") > 0;
    }
    return false;
  }

  void add(const JournalEntry& entry, std::optional<Time> until) {
    waits_.open.push_back({.kind = kind_of(entry), .name = entry.name, .until = until, .child = entry.child});
  }

  const std::vector<JournalEntry>& entries_;
  const Time now_;
  std::map<std::string, std::int64_t> signals_;  // signals that arrived and that no call has taken, by name
  std::set<std::int32_t> ended_;                 // positions of tasks and children
  std::int32_t timeout_of_open_ = -1;
  WorkflowWaits waits_;
};

}  // namespace

WorkflowWaits waits_of(const History& history, Time now) { return Reader(history, now).run(); }

}  // namespace hapax::model
