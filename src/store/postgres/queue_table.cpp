#include "store/postgres/queue_table.hpp"

#include <hapax/error.hpp>

#include "base/plain_path.hpp"

namespace hapax::store::postgres {

namespace {

using model::QueueRef;

// The insert waits for rows that another transaction is creating; the next call's second SELECT reads them.
constexpr Statement create_queues{"hapax_queues_create", R"(
WITH wanted AS MATERIALIZED (SELECT DISTINCT ns, name FROM unnest($1::text[], $2::text[]) u(ns, name)),
made AS (
  INSERT INTO {s}.queues (ns, name)
  SELECT w.ns, w.name FROM wanted w
  WHERE NOT EXISTS (SELECT FROM {s}.queues q WHERE q.ns = w.ns AND q.name = w.name) ORDER BY w.ns, w.name
  ON CONFLICT (ns, name) DO NOTHING RETURNING ns, name, id)
SELECT ns, name, id FROM made
UNION ALL SELECT q.ns, q.name, q.id FROM wanted w JOIN {s}.queues q ON q.ns = w.ns AND q.name = w.name)"};

constexpr Statement find_one{"hapax_queues_find", "SELECT id FROM {s}.queues WHERE ns = $1::text AND name = $2::text"};
constexpr Statement name_one{"hapax_queues_name", "SELECT ns, name FROM {s}.queues WHERE id = $1::int"};

constexpr Statement mark_keyed{"hapax_queues_keyed", R"(
UPDATE {s}.queues SET keyed = true, limited_since = CASE WHEN limited THEN limited_since ELSE {now} + $2::bigint END
WHERE id = ANY ($1::int[]) AND NOT keyed)"};

bool keeps_ids() {
  static const bool keeps = !base::takes_plain_path("pg-queue-ids");
  return keeps;
}

}  // namespace

void QueueIds::ensure(Connection& connection, const std::vector<QueueRef>& queues) {
  // Two queries are enough: a name that the first query neither created nor saw was being created by another
  // transaction.
  for (int round = 0; round < 3; ++round) {
    Array spaces(Type::text);
    Array names(Type::text);
    bool all_known = true;
    {
      const std::lock_guard lock(mutex_);
      for (const QueueRef& queue : queues) {
        if (!ids_.contains(queue) || (round == 0 && !keeps_ids())) {
          all_known = false;
          spaces.bytes(queue.namespace_name);
          names.bytes(queue.name);
        }
      }
    }
    if (all_known) { return; }
    const Result result = connection.query(create_queues, Params().array(std::move(spaces)).array(std::move(names)));
    for (RowReader reader : result) {
      QueueRef queue;
      queue.namespace_name = reader.bytes();
      queue.name = reader.bytes();
      remember(queue, reader.int4());
    }
  }
}

std::vector<QueueRef> QueueIds::unknown(const std::vector<const model::NewExecution*>& items) const {
  std::set<QueueRef> missing;
  const QueueRef* last = nullptr;
  const std::lock_guard lock(mutex_);
  for (const model::NewExecution* item : items) {
    if (last != nullptr && *last == item->queue) { continue; }
    last = &item->queue;
    if (!ids_.contains(item->queue) || !keeps_ids()) { missing.insert(item->queue); }
  }
  return {missing.begin(), missing.end()};
}

std::vector<QueueRef> QueueIds::unkeyed(const std::vector<const model::NewExecution*>& items) const {
  std::set<QueueRef> missing;
  for (const model::NewExecution* item : items) {
    if (!item->limit_key) { continue; }
    const std::lock_guard lock(mutex_);
    if (!keyed_.contains(item->queue)) { missing.insert(item->queue); }
  }
  return {missing.begin(), missing.end()};
}

void QueueIds::ensure_keyed(Connection& connection, const std::vector<QueueRef>& queues, std::int64_t offset_us) {
  if (queues.empty()) { return; }
  std::vector<std::int32_t> ids;
  for (const QueueRef& queue : queues) { ids.push_back(id(queue)); }
  const Call call = mark_keyed_call(ids, offset_us);
  connection.query(*call.statement, call.params);
  const std::lock_guard lock(mutex_);
  keyed_.insert(queues.begin(), queues.end());
}

std::int32_t QueueIds::id(const QueueRef& queue) const {
  const std::lock_guard lock(mutex_);
  const auto found = ids_.find(queue);
  if (found == ids_.end()) { throw StoreUnavailable("queue " + queue.name + " could not be created"); }
  return found->second;
}

std::optional<std::int32_t> QueueIds::find(Connection& connection, const QueueRef& queue) {
  if (keeps_ids()) {
    const std::lock_guard lock(mutex_);
    if (const auto found = ids_.find(queue); found != ids_.end()) { return found->second; }
  }
  const Result result = connection.query(find_one, Params().text(queue.namespace_name).text(queue.name));
  if (result.rows() == 0) { return std::nullopt; }
  const std::int32_t id = RowReader(result, 0).int4();
  if (!connection.in_transaction()) { remember(queue, id); }
  return id;
}

QueueRef QueueIds::name(Connection& connection, std::int32_t id) {
  if (keeps_ids()) {
    const std::lock_guard lock(mutex_);
    if (const auto found = names_.find(id); found != names_.end()) { return found->second; }
  }
  const Result result = connection.query(name_one, Params().int4(id));
  QueueRef queue;
  if (result.rows() > 0) {
    RowReader reader(result, 0);
    queue.namespace_name = reader.bytes();
    queue.name = reader.bytes();
    if (!connection.in_transaction()) { remember(queue, id); }
  }
  return queue;
}

void QueueIds::remember(const QueueRef& queue, std::int32_t id) {
  const std::lock_guard lock(mutex_);
  ids_.insert_or_assign(queue, id);
  names_.insert_or_assign(id, queue);
}

Call mark_keyed_call(const std::vector<std::int32_t>& queues, std::int64_t offset_us) {
  Array ids(Type::int4, queues.size());
  for (const std::int32_t queue : queues) { ids.int4(queue); }
  return {&mark_keyed, Params().array(std::move(ids)).int8(offset_us)};
}

}  // namespace hapax::store::postgres
