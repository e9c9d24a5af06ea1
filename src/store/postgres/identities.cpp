#include "store/postgres/identities.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

using namespace model;

// A live holder is not looked for in history: l.id IS NULL stops the probe of the partitions. Identities that this very
// transaction inserted are skipped. A batch must be admitted by steps as a whole if one holder must be displaced, one
// identity is free, or one identity is held by the requested id itself (a repeated request). Then the statement deletes
// what the transaction inserted for the others ($7 are the ids of all requests): no other transaction has seen these
// rows. An error would undo them too, but the server would log it.
constexpr std::string_view ask_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
found AS MATERIALIZED (
  SELECT coalesce(CASE WHEN i.execution IS NULL OR i.execution = u.asking OR a.id IS NOT NULL THEN false
                       WHEN u.throttle IS NOT NULL
                         THEN coalesce(l.created_at, h.created_at) + u.throttle > (SELECT now FROM t)
                       WHEN l.id IS NOT NULL THEN NOT u.terminates AND NOT {abandoned}
                       ELSE (h.status = 2 OR h.kind = 2) AND NOT u.reuses END, false) AS is_answer,
         i.identity, i.execution, i.fingerprint,
         coalesce(h.status, CASE l.state WHEN 1 THEN 1 ELSE 0 END)::smallint AS status, coalesce(l.run, h.run) AS run,
         coalesce(l.created_at, h.created_at) AS created_at, h.finished_at, h.result
  FROM unnest($2::bytea[], $3::uuid[], $4::boolean[], $5::boolean[], $6::bigint[])
         u(identity, asking, terminates, reuses, throttle)
  LEFT JOIN {s}.identities i ON i.identity = ANY (ARRAY[u.identity])
  LEFT JOIN {s}.live l ON l.id = ANY (ARRAY[i.execution])
  LEFT JOIN {s}.live a ON a.id = ANY (ARRAY[u.asking])
  LEFT JOIN LATERAL (
    SELECT status, run, created_at, finished_at, result, kind FROM {s}.history x
    WHERE l.id IS NULL AND x.id = i.execution AND x.expires_at > (SELECT now FROM t) AND x.stub IS NULL LIMIT 1) h
  ON true
  WHERE i.execution IS DISTINCT FROM u.asking OR {is another's}),
steps AS MATERIALIZED (SELECT EXISTS (SELECT FROM found WHERE NOT is_answer) AS needed),
undone AS (
  DELETE FROM {s}.live i WHERE (SELECT needed FROM steps) AND i.id = ANY ($7::uuid[]) AND NOT ({is another's})),
freed AS (
  DELETE FROM {s}.identities i
  WHERE (SELECT needed FROM steps) AND i.identity = ANY ($2::bytea[]) AND NOT ({is another's}))
SELECT * FROM found)";

// Whether another transaction than this one wrote the row `i`.
constexpr std::string_view another_text = "i.xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid";

constexpr Statement lock_identities{"hapax_lock_identities", R"(
SELECT identity, execution, run, fingerprint, created_at, hold_for, hold_until, ended_as, ended_at
FROM {s}.identities WHERE identity = ANY ($1::bytea[]) ORDER BY identity FOR UPDATE)"};

// For a running guard that may be taken over, returns its session too: the lease is read once the row is locked.
constexpr Statement lock_live{"hapax_lock_live_holders", R"(
SELECT id, CASE state WHEN 1 THEN 1 ELSE 0 END::smallint, fence, run, created_at, false,
       CASE WHEN kind = 2 AND attempt_timeout IS NOT NULL AND state = 1 THEN session END
FROM {s}.live WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE)"};

// Also finds records that have expired and are not swept yet. Every row has the time, and there is at least one row.
constexpr Statement finished_holders{"hapax_finished_holders", R"(
SELECT t.now, CASE WHEN cardinality($3::uuid[]) > 0 THEN
         ARRAY(SELECT s.id FROM {s}.sessions s WHERE s.id = ANY ($3::uuid[]) AND s.expires_at > t.now) END,
       h.id, h.status, h.run, h.created_at, h.finished_at, h.expires_at, h.stub IS NOT NULL, h.result
FROM (SELECT {now} + $2::bigint AS now) t LEFT JOIN {s}.history h ON h.id = ANY ($1::uuid[]))"};

constexpr std::string_view find_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT (SELECT now FROM t),
       i.identity, i.execution, i.run, i.fingerprint, i.created_at, i.hold_for, i.hold_until, i.ended_as, i.ended_at,
       l.id, CASE l.state WHEN 1 THEN 1 ELSE 0 END::smallint, l.fence, l.run, l.created_at, {abandoned},
       h.id, h.status, h.run, h.created_at, h.finished_at, h.expires_at, h.stub IS NOT NULL, NULL::bytea
FROM {s}.identities i
LEFT JOIN {s}.live l ON l.id = ANY (ARRAY[i.execution])
LEFT JOIN LATERAL (SELECT * FROM {s}.history x WHERE l.id IS NULL AND x.id = i.execution LIMIT 1) h ON true
WHERE i.identity = $2::bytea)";

// Whether `l` is a running guard that has lost its session and may be taken over (model::is_abandoned).
constexpr std::string_view abandoned_text =
    "coalesce(l.kind = 2 AND l.attempt_timeout IS NOT NULL AND NOT EXISTS (SELECT FROM {s}.sessions x WHERE x.id = "
    "l.session AND x.expires_at > (SELECT now FROM t)), false)";

std::string with_abandoned(std::string_view text) { return fill(text, {{"{abandoned}", abandoned_text}}); }

const Statement& ask_holders_statement() {
  static const Statement& statement =
      made_statement("hapax_ask_holders", fill(with_abandoned(ask_text), {{"{is another's}", another_text}}));
  return statement;
}

const Statement& find_statement() {
  static const Statement& statement = made_statement("hapax_holder", with_abandoned(find_text));
  return statement;
}

std::optional<Status> optional_status(RowReader& reader) {
  if (reader.is_null()) {
    reader.skip();
    return std::nullopt;
  }
  return static_cast<Status>(reader.int2());
}

IdentityRow read_identity(RowReader& reader) {
  IdentityRow row;
  row.execution = reader.uuid();
  row.run = reader.int4();
  row.fingerprint = reader.optional_digest();
  row.created_at = reader.time();
  row.hold_for = reader.optional_duration();
  row.hold_until = reader.optional_time();
  row.ended_as = optional_status(reader);
  row.ended_at = reader.optional_time();
  return row;
}

LiveHolder read_live(RowReader& reader) {
  LiveHolder live;
  live.status = static_cast<Status>(reader.int2());
  live.fence = reader.int8();
  live.run = reader.int4();
  live.created_at = reader.time();
  live.abandoned = reader.boolean();
  return live;
}

EndedHolder read_ended(RowReader& reader) {
  EndedHolder ended;
  ended.status = static_cast<Status>(reader.int2());
  ended.run = reader.int4();
  ended.created_at = reader.time();
  ended.finished_at = reader.time();
  ended.expires_at = reader.time();
  ended.stub = reader.boolean();
  ended.result = reader.optional_bytes();
  return ended;
}

// `sessions` gets, by guard, the sessions whose leases decide whether the guard may be taken over.
std::map<Uuid, LiveHolder> lock_live_holders(Connection& connection, const std::vector<Uuid>& executions,
                                             std::map<Uuid, Uuid>& sessions) {
  std::map<Uuid, LiveHolder> live;
  const Result rows = connection.query(lock_live, Params().array(uuid_array(executions)));
  for (RowReader reader : rows) {
    const Uuid id = reader.uuid();
    live.emplace(id, read_live(reader));
    if (const std::optional<Uuid> session = reader.optional_uuid()) { sessions.emplace(id, *session); }
  }
  return live;
}

template <class Value>
std::optional<Value> found_in(const std::map<Uuid, Value>& values, const Uuid& id) {
  const auto found = values.find(id);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

Call ask_holders(const std::vector<HolderQuestion>& questions, const std::vector<Uuid>& inserted,
                 std::int64_t offset_us) {
  const std::size_t n = questions.size();
  Array identities(Type::bytea, n), asking(Type::uuid, n), terminates(Type::boolean, n), reuses(Type::boolean, n);
  Array throttles(Type::int8, n);
  for (const HolderQuestion& question : questions) {
    identities.digest(question.identity);
    asking.uuid(question.asking);
    terminates.boolean(question.terminates);
    reuses.boolean(question.reuses);
    question.throttle ? throttles.int8(question.throttle->count()) : throttles.null();
  }
  Params params;
  params.int8(offset_us).arrays({&identities, &asking, &terminates, &reuses, &throttles});
  params.array(uuid_array(inserted));
  return {&ask_holders_statement(), std::move(params)};
}

std::optional<HeldIdentities> read_holders(const Result& result) {
  HeldIdentities held;
  for (RowReader reader : result) {
    if (!reader.boolean()) { return std::nullopt; }
    const base::Digest identity = reader.digest();
    Holder holder;
    holder.id = reader.uuid();
    holder.fingerprint = reader.optional_digest();
    holder.status = static_cast<Status>(reader.int2());
    holder.run = reader.int4();
    holder.created_at = reader.time();
    holder.finished_at = reader.optional_time();
    holder.result = reader.optional_bytes();
    const Uuid id = holder.id;
    held.insert_or_assign(identity, Held{.execution = id, .holder = std::move(holder)});
  }
  return held;
}

LockedHolders lock_holders(Connection& connection, const std::vector<base::Digest>& identities,
                           const std::vector<Uuid>& asking, std::int64_t offset_us) {
  LockedHolders locked;
  Array hashes(Type::bytea, identities.size());
  for (const base::Digest& identity : identities) { hashes.digest(identity); }
  const Result rows = connection.query(lock_identities, Params().array(std::move(hashes)));
  std::map<base::Digest, IdentityRow> found;
  std::vector<Uuid> executions;
  for (RowReader reader : rows) {
    const base::Digest identity = reader.digest();
    executions.push_back(found.emplace(identity, read_identity(reader)).first->second.execution);
  }
  if (executions.empty()) { return locked; }
  std::vector<Uuid> wanted = executions;
  wanted.insert(wanted.end(), asking.begin(), asking.end());
  std::map<Uuid, Uuid> sessions;
  locked.live = lock_live_holders(connection, wanted, sessions);
  std::erase_if(executions, [&](const Uuid& id) { return locked.live.contains(id); });
  std::vector<Uuid> watched;
  for (const auto& [guard, session] : sessions) { watched.push_back(session); }
  const Result finished = connection.query(
      finished_holders, Params().array(uuid_array(executions)).int8(offset_us).array(uuid_array(watched)));
  std::vector<Uuid> with_lease;
  std::map<Uuid, EndedHolder> ended;
  for (RowReader reader : finished) {
    locked.now = reader.time();
    if (reader.is_null()) {
      reader.skip();
    } else {
      with_lease = reader.uuids();
    }
    if (const std::optional<Uuid> id = reader.optional_uuid()) { ended.emplace(*id, read_ended(reader)); }
  }
  for (const auto& [guard, session] : sessions) {
    locked.live.at(guard).abandoned = std::ranges::find(with_lease, session) == with_lease.end();
  }
  for (const auto& [identity, row] : found) {
    locked.held[identity] = {
        .execution = row.execution,
        .holder = holder_of(row, found_in(locked.live, row.execution), found_in(ended, row.execution), locked.now)};
  }
  return locked;
}

std::optional<Holding> find_holding(Connection& connection, const base::Digest& identity, std::int64_t offset_us) {
  const Result result = connection.query(find_statement(), Params().int8(offset_us).digest(identity));
  if (result.rows() == 0) { return std::nullopt; }
  RowReader reader(result, 0);
  const Time now = reader.time();
  reader.skip();  // identity
  const IdentityRow row = read_identity(reader);
  std::optional<LiveHolder> live;
  std::optional<EndedHolder> ended;
  const bool is_live = reader.optional_uuid().has_value();
  const LiveHolder as_live = read_live(reader);
  if (is_live) { live = as_live; }
  const bool is_ended = reader.optional_uuid().has_value();
  if (is_ended) { ended = read_ended(reader); }
  return holding_of(row, live, ended, now);
}

namespace {

constexpr Statement name_owners{"hapax_name_owners", R"(
SELECT i.name, i.identity FROM {s}.identities i WHERE i.name = ANY ($1::bytea[]))"};

const std::optional<base::Digest>& name_of(const model::NewExecution& item) {
  static const std::optional<base::Digest> none;
  return item.identity ? item.identity->name : none;
}

}  // namespace

NameOwners::NameOwners(Connection& connection, const Items& items) {
  if (!has_names(items)) { return; }
  Array names(Type::bytea);
  for (const model::NewExecution* item : items) {
    if (name_of(*item)) { names.digest(*name_of(*item)); }
  }
  const Result owners = connection.query(name_owners, Params().array(std::move(names)));
  for (RowReader reader : owners) {
    const base::Digest name = reader.digest();
    identities_.emplace(name, reader.digest());
  }
}

bool NameOwners::is_taken(const model::NewExecution& item) const {
  if (!name_of(item)) { return false; }
  const auto owner = identities_.find(*name_of(item));
  return owner != identities_.end() && owner->second != item.identity->hash;
}

bool NameOwners::holds(const model::NewExecution& item) const {
  if (!name_of(item)) { return true; }
  const auto owner = identities_.find(*name_of(item));
  return owner != identities_.end() && owner->second == item.identity->hash;
}

void NameOwners::took(const model::NewExecution& item) {
  if (name_of(item)) { identities_[*name_of(item)] = item.identity->hash; }
}

}  // namespace hapax::store::postgres
