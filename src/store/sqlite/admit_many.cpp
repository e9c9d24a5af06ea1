// Many rows by one INSERT (many_rows.hpp). OR FAIL keeps the rows before the one that conflicts, and spares SQLite a
// copy of every page that it changes.
#include "model/labels.hpp"
#include "model/retry.hpp"
#include "store/sqlite/many_rows.hpp"
#include "store/sqlite/verbs.hpp"

#include <array>

namespace hapax::store::sqlite {

namespace {

const ManyRows& identities_many() {
  static const ManyRows& many = *new ManyRows(
      "INSERT OR FAIL INTO identities(identity, execution, fingerprint, hold_for, name, created_at, run)"
      " SELECT column1, column2, column3, column4, column5, ?1, 1 FROM {rows}",
      1, 5);
  return many;
}

const ManyRows& live_many() {
  static const ManyRows& many = *new ManyRows(
      "INSERT OR FAIL INTO live(id, queue_id, line, task, identity, identity_key, parent, labels, input, claim_number,"
      " state, priority, run_at, lost, fence, attempt, cancel_requested, deadline, kind, created_at, max_attempts,"
      " max_lost, run, attempt_timeout, retry, effect_key, weight, session, claimed_at)"
      " SELECT column1, column2, column3, column4, column5, column6, column7, column8, column9, column10, ?1, ?2, ?3, "
      "0,"
      " ?13, ?13, 0, ?4, ?5, ?6, ?7, ?8, 1, ?9, ?10, ?11, ?12, ?14, ?15 FROM {rows}",
      15, 10);
  return many;
}

// How many rows the statement made before a row conflicted.
std::size_t run_until_taken(WriteTransaction& tx, Cursor& cursor, std::size_t rows) {
  return cursor.run_unless_taken() ? rows : static_cast<std::size_t>(tx.db().changes());
}

}  // namespace

std::size_t hold_new_identities(WriteTransaction& tx, std::span<const NewHolder> holders) {
  Cursor cursor = tx.db().use(identities_many().sql(holders.size()));
  cursor.bind(tx.now());
  int parameter = identities_many().before(0);
  for (const NewHolder& holder : holders) {
    const IdentityClaim& identity = *holder.item->identity;
    cursor.put(++parameter, identity.hash);
    cursor.put(++parameter, holder.item->id);
    cursor.put(++parameter, identity.fingerprint);
    cursor.put(++parameter, hold_for(identity, holder.queue->settings));
    cursor.put(++parameter, identity.name);
  }
  return run_until_taken(tx, cursor, holders.size());
}

bool go_together(const NewExecution& one, const NewExecution& other) {
  const bool plain = other.kind != Kind::guard && !other.limit_key && !other.seed;
  const bool same_birth =
      one.born_running.has_value() == other.born_running.has_value() &&
      (!one.born_running || (one.born_running->session == other.born_running->session && one.queue == other.queue));
  return plain && same_birth && one.kind == other.kind && one.priority == other.priority && one.delay == other.delay &&
         one.run_at == other.run_at && one.deadline == other.deadline && one.max_attempts == other.max_attempts &&
         one.max_lost == other.max_lost && one.attempt_timeout == other.attempt_timeout && one.retry == other.retry &&
         one.effect_key == other.effect_key && one.weight == other.weight;
}

std::size_t insert_live_together(WriteTransaction& tx, std::span<const NewExecution> items,
                                 std::span<const QueueRow* const> queues, bool born_running) {
  const NewExecution& first = items.front();
  const Time run_at = first.run_at.value_or(tx.now() + first.delay);
  const std::optional<Time> deadline = first.deadline ? std::optional(tx.now() + *first.deadline) : std::nullopt;
  const std::optional<std::string> retry = first.retry ? std::optional(encode_retry(*first.retry)) : std::nullopt;
  const std::optional<int> weight = first.weight == 1 ? std::nullopt : std::optional(first.weight);
  const auto place = [&](const QueueRow& queue) {
    return born_running ? Place{.line = line::running(first.born_running->session), .state = LiveState::running}
                        : place_of(queue.id, first.priority, 0, run_at, tx.now());
  };
  const std::optional<Uuid> session = born_running ? std::optional(first.born_running->session) : std::nullopt;
  const std::optional<Time> claimed_at = born_running ? std::optional(tx.now()) : std::nullopt;
  std::array<std::optional<std::string>, rows_max> labels;
  Cursor cursor = tx.db().use(live_many().sql(items.size()));
  cursor.bind(static_cast<int>(place(*queues.front()).state), first.priority, run_at, deadline,
              static_cast<int>(first.kind), tx.now(), first.max_attempts, first.max_lost, first.attempt_timeout, retry,
              first.effect_key, weight, born_running ? 1 : 0, session, claimed_at);
  int parameter = live_many().before(0);
  for (std::size_t row = 0; row < items.size(); ++row) {
    const NewExecution& item = items[row];
    labels[row] = encode_labels(item.labels);
    cursor.put(++parameter, item.id);
    cursor.put(++parameter, queues[row]->id);
    cursor.put(++parameter, place(*queues[row]).line);
    cursor.put(++parameter, item.task);
    cursor.put(++parameter, item.identity->hash);
    cursor.put(++parameter, item.identity->key);
    cursor.put(++parameter, item.parent);
    cursor.put(++parameter, labels[row]);
    cursor.put(++parameter, item.input);
    cursor.put(++parameter, born_running ? item.born_running->claim_number : 0);
  }
  return run_until_taken(tx, cursor, items.size());
}

}  // namespace hapax::store::sqlite
