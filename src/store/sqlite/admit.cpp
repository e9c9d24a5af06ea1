// Admission. Without identity: 1 INSERT per item and 1 SELECT per queue of the batch; identity tables are not touched.
// With identity: 1 INSERT more for a new identity; for a held one that INSERT, which does nothing, and the cost of
// admit_identity.cpp. With a limit key: 1 INSERT more, and 1 SELECT if the key is ordered. With a seed: 1 INSERT per
// entry and event, 1 UPDATE. A guard: 1 SELECT more per session of the batch. A request that carries a catalogue
// version: 1 SELECT per namespace.
#include "store/sqlite/admit.hpp"

#include "model/catalogue_version.hpp"
#include "store/sqlite/many_rows.hpp"
#include "store/sqlite/park.hpp"

namespace hapax::store::sqlite {

namespace {

constexpr const char* present_sql = "SELECT state, run, created_at FROM live WHERE id = ?";
constexpr const char* take_identity_sql =
    "INSERT INTO identities(identity, execution, run, fingerprint, created_at, hold_for, name)"
    " VALUES (?, ?, 1, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
constexpr const char* catalogue_version_sql = "SELECT version FROM catalogue_versions WHERE ns = ?";
constexpr const char* any_due_sql = "SELECT 1 FROM live INDEXED BY live_line WHERE line BETWEEN ? AND ? LIMIT 1";
constexpr const char* any_delayed_due_sql =
    "SELECT 1 FROM live INDEXED BY live_line WHERE line = ? AND run_at <= ? LIMIT 1";

const char* insert_live_sql() {
  static const char* const sql =
      columns::kept_text("INSERT INTO live(" + columns::names(columns::inserted_columns) + ") VALUES (" +
                         numbered("?", columns::size(columns::inserted_columns)) + ")");
  return sql;
}

bool has_row(Cursor& cursor) { return cursor.next(); }

}  // namespace

std::int32_t catalogue_version(Connection& db, std::string_view namespace_name) {
  Cursor cursor = db.use(catalogue_version_sql);
  return cursor.bind(namespace_name).next() ? cursor.small(0) : 0;
}

void check_catalogues(WriteTransaction& tx, std::span<const NewExecution> items) {
  CatalogueVersions made_by;
  for (const NewExecution& item : items) { made_by.add(item); }
  for (const auto& [namespace_name, version] : made_by.oldest()) {
    if (catalogue_version(tx.db(), namespace_name) > version) {
      throw CatalogueChanged("the catalogue changed while the request was made; nothing was admitted");
    }
  }
}

bool may_be_born_running(WriteTransaction& tx, const BornRunning& born, const QueueRow& queue, Time run_at,
                         const IdleQueue& idle) {
  if (queue.limited() || queue.settings.paused || run_at > tx.now() || tx.worker_of(born.session) == nullptr) {
    return false;
  }
  return idle.queue_id == queue.id ||
         (!has_row(
              tx.db().use(any_due_sql).bind(claim_order::ready(queue.id).first, claim_order::suspect(queue.id).last)) &&
          !has_row(tx.db().use(any_delayed_due_sql).bind(claim_order::delayed(queue.id), tx.now())));
}

bool may_run(WriteTransaction& tx, const NewExecution& item) {
  return item.kind != Kind::guard || tx.is_live(item.born_running->session);
}

Admission created(const Uuid& id, Status status, int run, Time created_at) {
  return {.verdict = AdmissionVerdict::created, .id = id, .status = status, .run = run, .created_at = created_at};
}

std::optional<Admission> already_live(WriteTransaction& tx, const Uuid& id) {
  Cursor cursor = tx.db().use(present_sql);
  if (!cursor.bind(id).next()) { return std::nullopt; }
  return created(id, cursor.small(0) == 1 ? Status::running : Status::pending, cursor.small(1), cursor.time(2));
}

Admission insert_execution(WriteTransaction& tx, const NewExecution& item, const QueueRow& queue, int run, bool* waited,
                           IdleQueue& idle) {
  NewRow fresh;
  fresh.run = run;
  fresh.waited = waited != nullptr;
  fresh.run_at = item.run_at.value_or(tx.now() + item.delay);
  if (item.deadline) { fresh.deadline = tx.now() + *item.deadline; }
  if (item.kind == Kind::guard || (item.born_running && !item.limit_key &&
                                   may_be_born_running(tx, *item.born_running, queue, fresh.run_at, idle))) {
    fresh.running = &*item.born_running;
  }
  idle.queue_id = fresh.running != nullptr && item.kind != Kind::guard && !item.seed ? queue.id : 0;
  if (!insert_live(tx, item, queue, fresh)) {
    if (item.identity) { unhold_identity(tx, item.identity->hash); }
    return already_live(tx, item.id).value_or(Admission{});
  }
  if (waited != nullptr) { *waited = true; }
  if (item.seed) { seed_journal(tx, item.id, *item.seed); }
  Admission admission = created(item.id, fresh.running != nullptr ? Status::running : Status::pending, run, tx.now());
  if (fresh.running != nullptr) { admission.fence = 1; }
  return admission;
}

bool take_identity(WriteTransaction& tx, const NewExecution& item, const QueueRow& queue) {
  const IdentityClaim& identity = *item.identity;
  tx.db()
      .use(take_identity_sql)
      .bind(identity.hash, item.id, identity.fingerprint, tx.now(), hold_for(identity, queue.settings), identity.name)
      .run();
  return tx.db().changes() > 0;
}

LiveRow placed_row(WriteTransaction& tx, const NewExecution& item, const QueueRow& queue, const NewRow& fresh) {
  const Place place = fresh.running != nullptr
                          ? Place{.line = claim_order::running(fresh.running->session), .state = LiveState::running}
                          : place_of(queue.id, item.priority, 0, fresh.run_at, tx.now());
  LiveRow row;
  row.queue_id = queue.id;
  row.line = place.line;
  row.state = place.state;
  row.run_at = fresh.run_at;
  if (fresh.running != nullptr) {
    row.attempt = 1;
    row.fence = 1;
    row.session = fresh.running->session;
    row.claim_number = fresh.running->claim_number;
    row.claimed_at = tx.now();
  }
  row.deadline = fresh.deadline;
  row.created_at = tx.now();
  row.run = fresh.run;
  if (item.identity) {
    row.identity_key = item.identity->key;
  } else if (!fresh.identity_key.empty()) {
    row.identity_key = fresh.identity_key;
  }
  if (fresh.waited) { row.waited = 1; }
  return row;
}

bool insert_live(WriteTransaction& tx, const NewExecution& item, const QueueRow& queue, const NewRow& fresh) {
  const LiveRow placed = placed_row(tx, item, queue, fresh);
  const auto values = columns::new_values(columns::inserted_columns, item, placed);
  Cursor cursor = tx.db().use(insert_live_sql());
  std::apply([&](const auto&... value) { cursor.bind(value...); }, values);
  if (!cursor.run_unless_taken()) { return false; }
  if (item.limit_key) {
    const std::string key = encode_limit_key(*item.limit_key);
    tx.queues().mark_keyed(queue);
    join_key(tx, {.id = item.id, .queue_id = queue.id, .key = key, .priority = item.priority, .run_at = fresh.run_at});
  }
  return true;
}

namespace {

Admission admit_with_identity(WriteTransaction& tx, const NewExecution& item, bool* waited, IdleQueue& idle) {
  const QueueRow* const queue = tx.queues().find(item.queue);
  const bool is_open = queue != nullptr && !queue->settings.draining && may_run(tx, item);
  if (is_open && take_identity(tx, item, *queue)) { return insert_execution(tx, item, *queue, 1, waited, idle); }
  idle = {};
  return admit_held_identity(tx, item, waited);
}

Admission admit_one(WriteTransaction& tx, const NewExecution& item, bool* waited, IdleQueue& idle) {
  if (item.identity) { return admit_with_identity(tx, item, waited, idle); }
  const QueueRow& queue = tx.queues().get(item.queue);
  if (queue.settings.draining) {
    return already_live(tx, item.id).value_or(Admission{.verdict = AdmissionVerdict::queue_draining});
  }
  return insert_execution(tx, item, queue, 1, waited, idle);
}

}  // namespace

Admission admit(WriteTransaction& tx, const NewExecution& item, bool* waited) {
  IdleQueue none;
  return admit_one(tx, item, waited, none);
}

Admission admit(WriteTransaction& tx, const NewExecution& item) { return admit(tx, item, nullptr); }

std::vector<Admission> admit(WriteTransaction& tx, std::span<const NewExecution> items) {
  if (std::optional<std::vector<Admission>> together = admit_many(tx, items)) { return *std::move(together); }
  std::vector<Admission> admissions;
  admissions.reserve(items.size());
  IdleQueue idle;
  for (const NewExecution& item : items) { admissions.push_back(admit_one(tx, item, nullptr, idle)); }
  return admissions;
}

}  // namespace hapax::store::sqlite
