// Events of workflows (signals, ends of children, refusals, cancellations): the table `events`, and live.inbox, the
// number of an execution's newest event.
#pragma once

#include "store/sqlite/live_row.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::store::sqlite {

// A live execution that may receive an event.
struct Recipient {
  Uuid id;
  Kind kind = Kind::task;
  LiveState state = LiveState::ready;
  bool sleeps = false;  // it waits for an event or for a future instant
  std::int64_t queue_id = 0;
  int priority = 0;
  int lost = 0;
  std::optional<std::string> limit_key;
};
// The execution, if it is live. 1 SELECT.
[[nodiscard]] std::optional<Recipient> find_recipient(WriteTransaction& tx, const Uuid& id);

struct NewEvent {
  EventKind kind = EventKind::signal;
  std::int32_t position = 0;
  Status status = Status::pending;
  std::optional<Uuid> child;
  std::optional<std::string_view> name;
  std::optional<std::string_view> error;  // as JSON
  std::optional<std::string_view> data;
};
// Inserts an event for the execution, which becomes due if it sleeps. 1 INSERT, 1 UPDATE; with a limit key 1 UPDATE
// more.
void send_event(WriteTransaction& tx, const Recipient& recipient, const NewEvent& event);
// Finds the execution and sends it the event; does nothing if the execution is not live.
void send_event(WriteTransaction& tx, const Uuid& id, const NewEvent& event);

// Records the signal's key. False when an earlier signal had that key. 1 INSERT.
[[nodiscard]] bool is_first_signal(WriteTransaction& tx, const Uuid& execution, std::string_view key);

// Copies the signals that `turn` leaves for the next run to that run, and moves all signal keys to it. 1 INSERT, 2
// UPDATEs.
void carry_signals(WriteTransaction& tx, const Uuid& from, const Uuid& to, const Turn& turn);

// Inserts the events that a new execution starts with. 1 INSERT each, 1 UPDATE.
void seed_events(WriteTransaction& tx, const Uuid& execution, const std::vector<Event>& events);

[[nodiscard]] std::vector<Event> read_events(Connection& db, const Uuid& execution, std::int64_t after);

// 2 DELETEs.
void forget_events(WriteTransaction& tx, const Uuid& execution);

}  // namespace hapax::store::sqlite
