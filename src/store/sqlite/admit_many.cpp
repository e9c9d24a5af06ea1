// Many rows by one INSERT: the cursors into table and indexes stay open from row to row, and what is the same for all is
// bound once. OR FAIL keeps the rows before the one that is in the way, and spares SQLite a copy of every page it changes.
#include "model/labels.hpp"
#include "model/retry.hpp"
#include "store/sqlite/verbs.hpp"

#include <array>

namespace hapax::store::sqlite {

namespace {

// "(VALUES (?4,?5),(?6,?7),…)": a row for each of rows_at_once, its parameters behind those that all share.
std::string rows_behind(int shared, int columns) {
  std::string sql = "(VALUES ";
  int parameter = shared;
  for (std::size_t row = 0; row < rows_at_once; ++row) {
    sql += row == 0 ? "(" : ",(";
    for (int column = 0; column < columns; ++column) {
      sql += (column == 0 ? "?" : ",?") + std::to_string(++parameter);
    }
    sql += ")";
  }
  return sql + ")";
}

// Statements are known by the addresses of their texts, which stay as long as any store may: to the end of the process.
constexpr int identity_shared = 1;
constexpr int identity_columns = 4;
const char* identities_sql() {
  static const std::string& sql = *new std::string(
      "INSERT OR FAIL INTO identities(identity, execution, fingerprint, hold_for, created_at, run)"
      " SELECT column1, column2, column3, column4, ?1, 1 FROM " +
      rows_behind(identity_shared, identity_columns));
  return sql.c_str();
}

constexpr int live_shared = 12;
constexpr int live_columns = 9;
const char* live_sql() {
  static const std::string& sql = *new std::string(
      "INSERT OR FAIL INTO live(id, queue_id, line, task, identity, identity_key, parent, labels, input, state, "
      "priority,"
      " run_at, lost, fence, attempt, claim_number, cancel_requested, deadline, kind, created_at, max_attempts, "
      "max_lost, run, attempt_timeout, retry, effect_key, weight)"
      " SELECT column1, column2, column3, column4, column5, column6, column7, column8, column9, ?1, ?2, ?3, 0, 0, 0, "
      "0, 0, ?4, ?5, ?6, ?7, ?8, 1, ?9, ?10, ?11, ?12 FROM " +
      rows_behind(live_shared, live_columns));
  return sql.c_str();
}

// Rows it made before it met one that was there.
std::size_t run_until_taken(WriteTransaction& tx, Cursor& cursor) {
  return cursor.run_unless_taken() ? rows_at_once : static_cast<std::size_t>(tx.db().changes());
}

}  // namespace

std::size_t hold_new_identities(WriteTransaction& tx, std::span<const NewHolder> holders) {
  Cursor cursor = tx.db().use(identities_sql());
  cursor.bind(tx.now());
  int parameter = identity_shared;
  for (const NewHolder& holder : holders) {
    const IdentityClaim& identity = *holder.item->identity;
    cursor.put(++parameter, identity.hash);
    cursor.put(++parameter, holder.item->id);
    cursor.put(++parameter, identity.fingerprint);
    cursor.put(++parameter, hold_for(identity, holder.queue->settings));
  }
  return run_until_taken(tx, cursor);
}

bool go_together(const NewExecution& one, const NewExecution& other) {
  const bool plain = other.kind != Kind::guard && !other.born_running && !other.limit_key && !other.seed;
  return plain && one.kind == other.kind && one.priority == other.priority && one.delay == other.delay &&
         one.run_at == other.run_at && one.deadline == other.deadline && one.max_attempts == other.max_attempts &&
         one.max_lost == other.max_lost && one.attempt_timeout == other.attempt_timeout && one.retry == other.retry &&
         one.effect_key == other.effect_key && one.weight == other.weight;
}

std::size_t insert_live_together(WriteTransaction& tx, std::span<const NewExecution> items,
                                 std::span<const QueueRow* const> queues) {
  const NewExecution& first = items.front();
  const Time run_at = first.run_at.value_or(tx.now() + first.delay);
  const std::optional<Time> deadline = first.deadline ? std::optional(tx.now() + *first.deadline) : std::nullopt;
  const std::optional<std::string> retry = first.retry ? std::optional(encode_retry(*first.retry)) : std::nullopt;
  const std::optional<int> weight = first.weight == 1 ? std::nullopt : std::optional(first.weight);
  const LiveState state = place_of(queues.front()->id, first.priority, 0, run_at, tx.now()).state;
  std::array<std::optional<std::string>, rows_at_once> labels;
  Cursor cursor = tx.db().use(live_sql());
  cursor.bind(static_cast<int>(state), first.priority, run_at, deadline, static_cast<int>(first.kind), tx.now(),
              first.max_attempts, first.max_lost, first.attempt_timeout, retry, first.effect_key, weight);
  int parameter = live_shared;
  for (std::size_t row = 0; row < rows_at_once; ++row) {
    const NewExecution& item = items[row];
    labels[row] = encode_labels(item.labels);
    cursor.put(++parameter, item.id);
    cursor.put(++parameter, queues[row]->id);
    cursor.put(++parameter, place_of(queues[row]->id, item.priority, 0, run_at, tx.now()).line);
    cursor.put(++parameter, item.task);
    cursor.put(++parameter, item.identity->hash);
    cursor.put(++parameter, item.identity->key);
    cursor.put(++parameter, item.parent);
    cursor.put(++parameter, labels[row]);
    cursor.put(++parameter, item.input);
  }
  return run_until_taken(tx, cursor);
}

}  // namespace hapax::store::sqlite
