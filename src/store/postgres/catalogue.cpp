#include <hapax/error.hpp>

#include "base/text.hpp"
#include "store/postgres/admit_many.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/store.hpp"

namespace hapax::store::postgres {

namespace {

constexpr Statement tasks_statement{"hapax_tasks", R"(
SELECT name, definition, origin, updated_at FROM {s}.tasks WHERE ns = $1::text ORDER BY name)"};

constexpr Statement settings_statement{"hapax_settings",
                                       "SELECT name, value FROM {s}.settings WHERE ns = $1::text ORDER BY name"};

constexpr Statement version_statement{"hapax_catalogue_version",
                                      "SELECT version FROM {s}.catalogue_versions WHERE ns = $1::text"};

// Returns no row when another transaction just added the task: the statement waited for that transaction, and the next
// call sees its row.
constexpr Statement declare_task_statement{"hapax_task_declare", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
made AS (
  INSERT INTO {s}.tasks (ns, name, definition, origin, updated_at)
  SELECT $2::text, $3::text, $4::text, $5::text, now FROM t
  ON CONFLICT (ns, name) DO NOTHING RETURNING definition, origin, updated_at),
noted AS (
  INSERT INTO {s}.audit (ns, at, actor, action, subject, detail)
  SELECT $2::text, updated_at, origin, 'task.declare', $3::text, definition FROM made)
SELECT definition, origin, updated_at FROM made
UNION ALL SELECT definition, origin, updated_at FROM {s}.tasks WHERE ns = $2::text AND name = $3::text)"};

constexpr Statement put_statement{"hapax_task_put", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
put AS (
  INSERT INTO {s}.tasks AS x (ns, name, definition, origin, updated_at)
  SELECT $2::text, $3::text, $4::text, $5::text, now FROM t
  ON CONFLICT (ns, name) DO UPDATE SET definition = excluded.definition, origin = excluded.origin,
    updated_at = excluded.updated_at
  WHERE x.definition <> excluded.definition RETURNING definition, updated_at),
noted AS (
  INSERT INTO {s}.audit (ns, at, actor, action, subject, detail)
  SELECT $2::text, updated_at, $6::text, 'task.replace', $3::text, definition FROM put)
SELECT count(*) FROM put)"};

constexpr Statement remove_statement{"hapax_task_remove", R"(
WITH gone AS (DELETE FROM {s}.tasks WHERE ns = $2::text AND name = $3::text RETURNING name),
noted AS (
  INSERT INTO {s}.audit (ns, at, actor, action, subject, detail)
  SELECT $2::text, {now} + $1::bigint, $4::text, 'task.remove', name, '' FROM gone)
SELECT count(*) FROM gone)"};

constexpr Statement setting_statement{"hapax_setting_put", R"(
WITH put AS (
  INSERT INTO {s}.settings AS x (ns, name, value) SELECT $2::text, $3::text, $4::text WHERE $4::text <> ''
  ON CONFLICT (ns, name) DO UPDATE SET value = excluded.value WHERE x.value <> excluded.value RETURNING name),
gone AS (
  DELETE FROM {s}.settings WHERE ns = $2::text AND name = $3::text AND $4::text = '' RETURNING name),
changed AS MATERIALIZED (SELECT name FROM put UNION ALL SELECT name FROM gone),
noted AS (
  INSERT INTO {s}.audit (ns, at, actor, action, subject, detail)
  SELECT $2::text, {now} + $1::bigint, $5::text, 'setting', name, $4::text FROM changed)
SELECT count(*) FROM changed)"};

bool changed(const Result& result) { return RowReader(result, 0).int8() > 0; }

}  // namespace

// 1 round trip.
StoredCatalogue PostgresStore::catalogue(std::string_view namespace_name) {
  return read([&](Connection& connection) {
    // Reads the version before the entries: each statement sees all commits before it, so the entries may be newer than
    // the version, but never older.
    const std::vector<Call> calls{{&version_statement, Params().text(namespace_name)},
                                  {&tasks_statement, Params().text(namespace_name)},
                                  {&settings_statement, Params().text(namespace_name)}};
    const std::vector<Result> results = connection.pipeline(calls);
    StoredCatalogue all;
    if (results[0].rows() > 0) { all.version = RowReader(results[0], 0).int4(); }
    for (RowReader reader : results[1]) {
      TaskEntry entry;
      entry.namespace_name = namespace_name;
      entry.name = reader.bytes();
      entry.definition = reader.bytes();
      entry.origin = reader.bytes();
      entry.updated_at = reader.time();
      all.tasks.push_back(std::move(entry));
    }
    for (RowReader reader : results[2]) {
      Setting setting;
      setting.name = reader.bytes();
      setting.value = reader.bytes();
      all.settings.push_back(std::move(setting));
    }
    return all;
  });
}

// 1 round trip.
TaskEntry PostgresStore::declare_task(const TaskEntry& entry) {
  constexpr int rounds = 3;
  return run([&](Connection& connection) {
    Params params;
    params.int8(offset_us()).text(entry.namespace_name).text(entry.name).text(entry.definition).text(entry.origin);
    for (int round = 0; round < rounds; ++round) {
      const Result result = connection.query(declare_task_statement, params);
      if (result.rows() == 0) { continue; }
      RowReader reader(result, 0);
      TaskEntry stored = entry;
      stored.definition = reader.bytes();
      stored.origin = reader.bytes();
      stored.updated_at = reader.time();
      return stored;
    }
    throw StoreBusy("task " + entry.name + " is being declared and removed at the same time; try again");
  });
}

// 1 round trip, as in the next functions. A call that is repeated after a lost answer may report that the entry was
// already stored.
bool PostgresStore::put_task(const TaskEntry& entry, std::string_view actor) {
  return run([&](Connection& connection) {
    Params params;
    params.int8(offset_us()).text(entry.namespace_name).text(entry.name).text(entry.definition).text(entry.origin);
    params.text(base::escape_invalid(actor));
    return changed(connection.query(put_statement, params));
  });
}

bool PostgresStore::remove_task(std::string_view namespace_name, std::string_view name, std::string_view actor) {
  return run([&](Connection& connection) {
    Params params;
    params.int8(offset_us()).text(namespace_name).text(name).text(base::escape_invalid(actor));
    return changed(connection.query(remove_statement, params));
  });
}

bool PostgresStore::put_setting(std::string_view namespace_name, const Setting& setting, std::string_view actor) {
  return run([&](Connection& connection) {
    Params params;
    params.int8(offset_us())
        .text(namespace_name)
        .text(setting.name)
        .text(setting.value)
        .text(base::escape_invalid(actor));
    return changed(connection.query(setting_statement, params));
  });
}

std::string draining_text(int last) {
  const std::string namespaces = "$" + std::to_string(last + 1) + "::text[]";
  const std::string versions = "$" + std::to_string(last + 2) + "::int[]";
  return R"(draining AS MATERIALIZED (
  SELECT id FROM {s}.queues WHERE draining
  UNION ALL
  SELECT 0 FROM {s}.catalogue_versions v
  WHERE v.ns = ANY ()" +
         namespaces + ") AND v.version > (" + versions + ")[array_position(" + namespaces + ", v.ns)]),";
}

void add_catalogue_params(Params& params, const model::CatalogueVersions& made_by) {
  Array namespaces(Type::text, made_by.oldest().size());
  Array versions(Type::int4, made_by.oldest().size());
  for (const auto& [namespace_name, version] : made_by.oldest()) {
    namespaces.bytes(namespace_name);
    versions.int4(version);
  }
  params.array(std::move(namespaces)).array(std::move(versions));
}

void throw_catalogue_changed() {
  throw CatalogueChanged("the catalogue changed while the request was made; nothing was admitted");
}

}  // namespace hapax::store::postgres
