// A worker's usual statements, run once in a transaction that is rolled back. Afterwards the statements are prepared
// (those of many rows take SQLite longest) and their pages are in memory before the first work comes.
#include "store/sqlite/many_rows.hpp"
#include "store/sqlite/verbs.hpp"

#include <array>
#include <vector>

namespace hapax::store::sqlite {

namespace {

// One single row, and one statement of each row count.
constexpr std::size_t executions = rows_max + rows_min + 1;

// An id that no real execution or session has: its timestamp is 1970.
Uuid warm_up_id(std::size_t number) {
  Uuid id;
  id.bytes.back() = static_cast<std::uint8_t>(number);
  return id;
}

NewExecution execution(std::size_t number, const QueueRef& queue, const Uuid& session) {
  NewExecution item;
  item.id = warm_up_id(number);
  item.queue = queue;
  item.task = "warm-up";
  item.kind = Kind::workflow;
  IdentityClaim identity;
  identity.hash.fill(static_cast<std::uint8_t>(number));
  identity.fingerprint = identity.hash;
  item.identity = identity;
  item.born_running = BornRunning{session, static_cast<std::int64_t>(number)};
  return item;
}

std::vector<JournalEntry> entry_at(std::int32_t position) {
  JournalEntry entry;
  entry.position = position;
  entry.data = "null";
  return {std::move(entry)};
}

}  // namespace

void warm_up(WriteTransaction& tx) {
  const Uuid session = warm_up_id(executions);
  const QueueRef queue{.namespace_name = "hapax", .name = "warm-up"};
  open_session(tx, {.id = session, .worker = "warm-up", .queues = {queue}});
  std::vector<NewExecution> items;
  std::vector<Advance> turns;
  std::vector<Finish> finishes;
  for (std::size_t number = 0; number < executions; ++number) {
    items.push_back(execution(number, queue, session));
    turns.push_back({.execution = items.back().id, .fence = 1, .entries = entry_at(0)});
    auto turn = std::make_shared<Turn>();
    turn->entries = entry_at(1);
    finishes.push_back({.id = items.back().id, .fence = 1, .turn = std::move(turn)});
  }
  const std::span<const NewExecution> all(items);
  static_cast<void>(admit(tx, all.first(1)));  // makes the queue
  static_cast<void>(admit(tx, all.subspan(1)));
  static_cast<void>(advance(tx, std::span<const Advance>(turns)));
  static_cast<void>(finish(tx, std::span<const Finish>(finishes)));
  static_cast<void>(claim(tx, {.session = session, .claim_number = 1, .queues = {queue}, .tasks = {"warm-up"}}));
}

}  // namespace hapax::store::sqlite
