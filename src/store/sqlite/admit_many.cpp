// Admissions of a batch of eight or more items with identities, many rows to an INSERT (many_rows.hpp). The saving: an
// event costs the writing thread 5.7 µs instead of 9.0 (decision 59). OR FAIL keeps the rows before the one that
// conflicts, and spares SQLite a copy of every page that it changes.
#include "store/sqlite/admit.hpp"
#include "store/sqlite/many_rows.hpp"

#include "base/plain_path.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

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
  static const ManyRows& many =
      *new ManyRows("INSERT OR FAIL INTO live(" + columns::names(columns::own_columns) + ", " +
                        columns::names(columns::shared_columns) + ") SELECT " +
                        numbered("column", columns::size(columns::own_columns)) + ", " +
                        numbered("?", columns::size(columns::shared_columns)) + " FROM {rows}",
                    columns::size(columns::shared_columns), columns::size(columns::own_columns));
  return many;
}

// Runs the statement; returns how many rows it inserted before one conflicted.
std::size_t run_until_taken(WriteTransaction& tx, Cursor& cursor, std::size_t rows) {
  return cursor.run_unless_taken() ? rows : static_cast<std::size_t>(tx.db().changes());
}

struct NewHolder {
  const NewExecution* item;
  const QueueRow* queue;
};
// Holds new identities by one INSERT, as many as many_rows.hpp allows. Returns how many rows were made, from the first
// on, before a row existed already.
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

// Batches of at least this many items take their identities in key order, which is the order of the index pages.
constexpr std::size_t worth_sorting = rows_min;

// After this many known identities in one batch, more are likely: the rest are inserted one by one.
constexpr int known_expected_max = 8;

// The queue of each item; empty unless all items have identities and their queues are not draining.
std::vector<const QueueRow*> queues_of_sortable(WriteTransaction& tx, std::span<const NewExecution> items) {
  std::vector<const QueueRow*> queues;
  if (items.size() < worth_sorting) { return queues; }
  queues.reserve(items.size());
  for (const NewExecution& item : items) {
    const QueueRow* const queue = item.identity ? tx.queues().find(item.queue) : nullptr;
    if (queue == nullptr || queue->settings.draining || !may_run(tx, item)) { return {}; }
    queues.push_back(queue);
  }
  return queues;
}

// The items' indexes, ordered by identity; equal identities keep their order in the batch.
std::vector<std::size_t> by_identity(std::span<const NewExecution> items) {
  struct Key {
    std::uint64_t begin;  // the hash's first 8 bytes, which differ for almost all
    std::size_t place;
  };
  std::vector<Key> keys;
  keys.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const base::Digest& hash = items[i].identity->hash;
    keys.push_back({std::accumulate(hash.begin(), hash.begin() + 8, std::uint64_t{0},
                                    [](std::uint64_t begin, std::uint8_t byte) { return begin << 8 | byte; }),
                    i});
  }
  std::ranges::sort(keys, [&](const Key& one, const Key& other) {
    if (one.begin != other.begin) { return one.begin < other.begin; }
    return std::tie(items[one.place].identity->hash, one.place) <
           std::tie(items[other.place].identity->hash, other.place);
  });
  std::vector<std::size_t> order;
  order.reserve(keys.size());
  for (const Key& key : keys) { order.push_back(key.place); }
  return order;
}

std::vector<bool> take_identities(WriteTransaction& tx, std::span<const NewExecution> items,
                                  std::span<const QueueRow* const> queues) {
  std::vector<bool> taken(items.size(), false);
  const std::vector<std::size_t> order = by_identity(items);
  std::array<NewHolder, rows_max> holders;
  int known = 0;
  for (std::size_t next = 0; next < order.size();) {
    const std::size_t rows = known < known_expected_max ? rows_of_next(order.size() - next) : 0;
    if (rows > 0) {
      for (std::size_t row = 0; row < rows; ++row) {
        holders[row] = {&items[order[next + row]], queues[order[next + row]]};
      }
      const std::size_t made = hold_new_identities(tx, std::span(holders).first(rows));
      for (const std::size_t end = next + made; next < end; ++next) { taken[order[next]] = true; }
      if (made == rows) { continue; }
      ++known;
    }
    const std::size_t one = order[next++];
    taken[one] = take_identity(tx, items[one], *queues[one]);
  }
  return taken;
}

// Whether both items need nothing but a row in live, and those rows differ at most in id, queue, task, identity,
// parent, labels, input and claim. Two items that may be born running must also have the same session and queue.
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

// Makes the rows of items that go together and hold their identities by one INSERT. Returns how many rows were made,
// from the first on, before a row existed already.
std::size_t insert_live_together(WriteTransaction& tx, std::span<const NewExecution> items,
                                 std::span<const QueueRow* const> queues, const NewRow& fresh) {
  const NewExecution& first = items.front();
  LiveRow placed = placed_row(tx, first, *queues.front(), fresh);
  const auto shared = columns::new_values(columns::shared_columns, first, placed);
  using Own = decltype(columns::new_values(columns::own_columns, first, placed));
  std::array<std::optional<Own>, rows_max> own_values;
  Cursor cursor = tx.db().use(live_many().sql(items.size()));
  std::apply([&](const auto&... value) { cursor.bind(value...); }, shared);
  int parameter = live_many().before(0);
  for (std::size_t row = 0; row < items.size(); ++row) {
    const NewExecution& item = items[row];
    placed.queue_id = queues[row]->id;
    if (fresh.running == nullptr) {
      placed.line = place_of(placed.queue_id, first.priority, 0, placed.run_at, tx.now()).line;
    } else {
      placed.claim_number = item.born_running->claim_number;
    }
    placed.identity_key = item.identity->key;
    own_values[row].emplace(columns::new_values(columns::own_columns, item, placed));
    std::apply([&](const auto&... value) { (cursor.put(++parameter, value), ...); }, *own_values[row]);
  }
  return run_until_taken(tx, cursor, items.size());
}

// Inserts items that go together. Adds an admission for each, up to the first whose id is live already.
void insert_together(WriteTransaction& tx, std::span<const NewExecution> items, std::span<const QueueRow* const> queues,
                     IdleQueue& idle, std::vector<Admission>& admissions) {
  const NewExecution& first = items.front();
  NewRow fresh{.run_at = first.run_at.value_or(tx.now() + first.delay)};
  if (first.deadline) { fresh.deadline = tx.now() + *first.deadline; }
  const bool born_running =
      first.born_running && may_be_born_running(tx, *first.born_running, *queues.front(), fresh.run_at, idle);
  if (born_running) { fresh.running = &*first.born_running; }
  idle.queue_id = born_running ? queues.front()->id : 0;
  const std::size_t made = insert_live_together(tx, items, queues, fresh);
  for (const NewExecution& item : items.first(made)) {
    admissions.push_back(created(item.id, born_running ? Status::running : Status::pending, 1, tx.now()));
    if (born_running) { admissions.back().fence = 1; }
  }
}

// If two items have one identity, the first is inserted before the second is decided.
std::vector<Admission> admit_sorted(WriteTransaction& tx, std::span<const NewExecution> items,
                                    std::span<const QueueRow* const> queues) {
  const std::vector<bool> taken = take_identities(tx, items, queues);
  std::vector<Admission> admissions;
  admissions.reserve(items.size());
  IdleQueue idle;
  while (admissions.size() < items.size()) {
    const std::size_t first = admissions.size();
    std::size_t end = first;
    while (end < items.size() && end < first + rows_max && taken[end] && go_together(items[first], items[end])) {
      ++end;
    }
    const std::size_t rows = rows_of_next(end - first);
    if (rows > 0) { insert_together(tx, items.subspan(first, rows), queues.subspan(first, rows), idle, admissions); }
    end = first + std::max<std::size_t>(rows, 1);
    for (std::size_t i = admissions.size(); i < end; ++i) {
      if (taken[i]) {
        admissions.push_back(insert_execution(tx, items[i], *queues[i], 1, nullptr, idle));
      } else {
        idle = {};
        admissions.push_back(admit_held_identity(tx, items[i], nullptr));
      }
    }
  }
  return admissions;
}

}  // namespace

std::optional<std::vector<Admission>> admit_many(WriteTransaction& tx, std::span<const NewExecution> items) {
  static const bool plain = base::takes_plain_path("sqlite-many-admit");
  if (plain) { return std::nullopt; }
  const std::vector<const QueueRow*> queues = queues_of_sortable(tx, items);
  return queues.empty() ? std::nullopt : std::optional(admit_sorted(tx, items, queues));
}

}  // namespace hapax::store::sqlite
