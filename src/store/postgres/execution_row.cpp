#include "store/postgres/execution_row.hpp"

#include "model/claim_limits.hpp"
#include "model/effect_key.hpp"
#include "model/labels.hpp"
#include "model/retry.hpp"
#include "store/postgres/live_row.hpp"

#include <array>

namespace hapax::store::postgres {

namespace {

using namespace model;

void get(RowReader& reader, bool& to) { to = reader.boolean(); }
void get(RowReader& reader, int& to) { to = reader.int4(); }
void get(RowReader& reader, std::int64_t& to) { to = reader.int8(); }
void get(RowReader& reader, std::string& to) { to = reader.bytes(); }
void get(RowReader& reader, Uuid& to) { to = reader.uuid(); }
void get(RowReader& reader, Time& to) { to = reader.time(); }
void get(RowReader& reader, std::optional<double>& to) { to = reader.optional_float8(); }
void get(RowReader& reader, std::optional<std::string>& to) { to = reader.optional_bytes(); }
void get(RowReader& reader, std::optional<Uuid>& to) { to = reader.optional_uuid(); }
void get(RowReader& reader, std::optional<base::Digest>& to) { to = reader.optional_digest(); }
void get(RowReader& reader, std::optional<Time>& to) { to = reader.optional_time(); }
void get(RowReader& reader, std::optional<Duration>& to) { to = reader.optional_duration(); }
void get(RowReader& reader, std::optional<ErrorInfo>& to) {
  if (const auto error = reader.optional_bytes()) { to = decode_error(*error); }
}
void get(RowReader& reader, std::optional<RetryPolicy>& to) {
  if (const auto retry = reader.optional_bytes()) { to = decode_retry(*retry); }
}
void get(RowReader& reader, std::optional<LimitKey>& to) {
  if (const auto key = reader.optional_bytes()) { to = decode_limit_key(*key); }
}
void get(RowReader& reader, Labels& to) {
  if (const auto labels = reader.optional_bytes()) { to = decode_labels(*labels); }
}

template <auto member>
void to_execution(RowReader& reader, ExecutionRow& to) {
  get(reader, to.execution.*member);
}

template <auto member>
void to_claim(RowReader& reader, ClaimRow& to) {
  get(reader, to.claim.*member);
}

constexpr unsigned usually = Insert::general | Insert::copy | Insert::copy_keyed;
constexpr unsigned lean = usually | Insert::plain | Insert::labelled | Insert::keyed;
constexpr unsigned keys = Insert::general | Insert::keyed | Insert::guards | Insert::copy_keyed;

std::int64_t microseconds(Time at) { return at.time_since_epoch().count(); }

std::optional<std::int64_t> microseconds(const std::optional<Duration>& period) {
  return period ? std::optional(period->count()) : std::nullopt;
}

std::int64_t due_at(const NewExecution& item, std::int64_t now) {
  return item.run_at ? microseconds(*item.run_at) : now + item.delay.count();
}

std::optional<std::string> encoded(const std::optional<RetryPolicy>& retry) {
  return retry ? std::optional(encode_retry(*retry)) : std::nullopt;
}

std::optional<std::string> encoded(const std::optional<LimitKey>& key) {
  return key ? std::optional(encode_limit_key(*key)) : std::nullopt;
}

bool has_usual_max_lost(const NewExecution& item) {
  static const int usual = NewExecution().max_lost;
  return item.max_lost == usual;
}

// The order is that of the statements' parameters and answers. `id` comes first.
constexpr std::array table{
    Column{.name = "id",
           .type = Type::uuid,
           .put = [](Array& to, const NewRow& row) { to.uuid(row.item->id); },
           .inserts = lean | Insert::guards,
           .varies = true,
           .takes = true,
           .moves = true,
           .claim = to_claim<&Claim::id>,
           .read = to_execution<&Execution::id>},
    Column{.name = "queue_id",
           .type = Type::int4,
           .put = [](Array& to, const NewRow& row) { to.int4(row.queue_id); },
           .inserts = lean | Insert::guards,
           .moves = true,
           .retried = true,
           .claim = [](RowReader& reader, ClaimRow& to) { to.queue_id = reader.int4(); },
           .read = [](RowReader& reader, ExecutionRow& to) { to.queue_id = reader.int4(); }},
    Column{.name = "task",
           .put = [](Array& to, const NewRow& row) { to.bytes(row.item->task); },
           .inserts = lean | Insert::guards,
           .moves = true,
           .retried = true,
           .claim = to_claim<&Claim::task>,
           .read = to_execution<&Execution::task>},
    Column{.name = "kind",
           .type = Type::int2,
           .put = [](Array& to, const NewRow& row) { to.int2(static_cast<int>(row.item->kind)); },
           .inserts = usually | Insert::keyed,
           .moves = true,
           .retried = true,
           .claim = [](RowReader& reader, ClaimRow& to) { to.claim.kind = static_cast<Kind>(reader.int2()); },
           .read = [](RowReader& reader, ExecutionRow& to) { to.execution.kind = static_cast<Kind>(reader.int2()); }},
    Column{
        .name = "state",
        .type = Type::int2,
        .value = "CASE WHEN born THEN 1 WHEN due > now THEN 2 ELSE 0 END",
        .copy = [](Array& to, const NewRow& row, std::int64_t now) { to.int2(due_at(*row.item, now) > now ? 2 : 0); },
        .replaced = true},
    Column{
        .name = "status",
        .live = "CASE l.state WHEN 1 THEN 1 ELSE 0 END::smallint",
        .read = [](RowReader& reader, ExecutionRow& to) { to.execution.status = static_cast<Status>(reader.int2()); }},
    Column{.name = "input",
           .type = Type::bytea,
           .put = [](Array& to, const NewRow& row) { to.bytes(row.item->input); },
           .inserts = lean | Insert::guards,
           .varies = true,
           .replaced = true,
           .retried = true,
           .claim = to_claim<&Claim::input>,
           .read = to_execution<&Execution::input>},
    Column{.name = "result", .live = "NULL::bytea", .read = to_execution<&Execution::result>},
    Column{.name = "error", .live = "NULL::text", .read = to_execution<&Execution::error>},
    Column{.name = "priority",
           .type = Type::int2,
           .put = [](Array& to, const NewRow& row) { to.int2(row.item->priority); },
           .inserts = lean,
           .replaced = true,
           .moves = true,
           .retried = true,
           .claim = [](RowReader& reader, ClaimRow& to) { to.claim.priority = reader.int2(); },
           .read = [](RowReader& reader, ExecutionRow& to) { to.execution.priority = reader.int2(); }},
    Column{.name = "run",
           .type = Type::int4,
           .put = [](Array& to, const NewRow& row) { to.int4(row.run); },
           .inserts = Insert::general | Insert::guards,
           .moves = true,
           .claim = to_claim<&Claim::run>,
           .read = to_execution<&Execution::run>},
    Column{.name = "attempt",
           .value = "CASE WHEN born THEN 1 ELSE 0 END",
           .moves = true,
           .claim = to_claim<&Claim::attempt>,
           .read = to_execution<&Execution::attempt>},
    Column{.name = "max_attempts",
           .type = Type::int4,
           .put = [](Array& to, const NewRow& row) { to.int4(row.item->max_attempts); },
           .inserts = lean,
           .replaced = true,
           .moves = true,
           .retried = true,
           .claim = to_claim<&Claim::max_attempts>,
           .read = to_execution<&Execution::max_attempts>},
    Column{.name = "lost", .moves = true, .claim = to_claim<&Claim::lost>, .read = to_execution<&Execution::lost>},
    Column{.name = "max_lost",
           .type = Type::int4,
           .put = [](Array& to, const NewRow& row) { to.int4(row.item->max_lost); },
           .is_usual = has_usual_max_lost,
           .replaced = true,
           .moves = true,
           .retried = true,
           .claim = to_claim<&Claim::max_lost>,
           .read = to_execution<&Execution::max_lost>},
    Column{.name = "fence",
           .value = "CASE WHEN born THEN 1 ELSE 0 END",
           .moves = true,
           .claim = to_claim<&Claim::fence>,
           .read = to_execution<&Execution::fence>},
    Column{.name = "created_at",
           .type = Type::int8,
           .value = "now",
           .copy = [](Array& to, const NewRow&, std::int64_t now) { to.int8(now); },
           .moves = true,
           .claim = to_claim<&Claim::created_at>,
           .read = to_execution<&Execution::created_at>},
    Column{.name = "run_at",
           .type = Type::int8,
           .is_usual = [](const NewExecution& item) { return item.delay == Duration{0} && !item.run_at; },
           .value = "due",
           .copy = [](Array& to, const NewRow& row, std::int64_t now) { to.int8(due_at(*row.item, now)); },
           .replaced = true,
           .moves = true,
           .claim = to_claim<&Claim::due_at>,
           .read = to_execution<&Execution::run_at>},
    Column{.name = "claimed_at", .value = "CASE WHEN born THEN now END"},
    Column{.name = "started_at", .live = "l.claimed_at", .read = to_execution<&Execution::started_at>},
    Column{.name = "finished_at", .live = "NULL::bigint", .read = to_execution<&Execution::finished_at>},
    Column{.name = "expires_at", .live = "NULL::bigint", .read = to_execution<&Execution::expires_at>},
    Column{
        .name = "deadline",
        .type = Type::int8,
        .put = [](Array& to, const NewRow& row) { to.optional_int8(microseconds(row.item->deadline)); },
        .is_usual = [](const NewExecution& item) { return !item.deadline; },
        .value = "now + deadline",
        .copy = [](Array& to, const NewRow& row,
                   std::int64_t now) { row.item->deadline ? to.int8(now + row.item->deadline->count()) : to.null(); },
        .replaced = true,
        .moves = true,
        .claim = to_claim<&Claim::deadline>,
        .read = to_execution<&Execution::deadline>},
    Column{.name = "attempt_timeout",
           .type = Type::int8,
           .put = [](Array& to, const NewRow& row) { to.optional_int8(microseconds(row.item->attempt_timeout)); },
           .inserts = usually | Insert::guards,
           .is_usual = [](const NewExecution& item) { return !item.attempt_timeout; },
           .replaced = true,
           .moves = true,
           .retried = true,
           .claim = to_claim<&Claim::attempt_timeout>,
           .read = to_execution<&Execution::attempt_timeout>},
    Column{.name = "retry",
           .put = [](Array& to, const NewRow& row) { to.optional_bytes(encoded(row.item->retry)); },
           .is_usual = [](const NewExecution& item) { return !item.retry; },
           .replaced = true,
           .moves = true,
           .retried = true,
           .claim = to_claim<&Claim::retry>,
           .read = to_execution<&Execution::retry>},
    Column{.name = "identity",
           .type = Type::bytea,
           .put = [](Array& to,
                     const NewRow& row) { row.item->identity ? to.digest(row.item->identity->hash) : to.null(); },
           .inserts = keys,
           .varies = true,
           .takes = true,
           .moves = true,
           .retried = true,
           .claim = to_claim<&Claim::identity>,
           .read = to_execution<&Execution::identity>},
    Column{
        .name = "identity_key",
        .put = [](Array& to, const NewRow& row) { row.item->identity ? to.bytes(row.item->identity->key) : to.null(); },
        .inserts = keys,
        .varies = true,
        .moves = true,
        .retried = true,
        .read = to_execution<&Execution::identity_key>},
    // A claim has the stored key. A whole execution has the key in force, which may be derived from its identity or id.
    Column{.name = "effect_key",
           .put = [](Array& to, const NewRow& row) { to.optional_bytes(row.item->effect_key); },
           .is_usual = [](const NewExecution& item) { return !item.effect_key; },
           .moves = true,
           .claim = to_claim<&Claim::effect_key>,
           .read =
               [](RowReader& reader, ExecutionRow& to) {
                 to.execution.effect_key = effect_key(reader.optional_bytes(), to.execution.identity, to.execution.id);
               }},
    Column{.name = "parent",
           .type = Type::uuid,
           .put = [](Array& to, const NewRow& row) { to.optional_uuid(row.item->parent); },
           .inserts = usually | Insert::keyed,
           .moves = true,
           .retried = true,
           .claim = to_claim<&Claim::parent>,
           .read = to_execution<&Execution::parent>},
    Column{.name = "labels",
           .put = [](Array& to, const NewRow& row) { to.optional_bytes(encode_labels(row.item->labels)); },
           .inserts = usually | Insert::labelled | Insert::keyed,
           .replaced = true,
           .moves = true,
           .retried = true,
           .claim = to_claim<&Claim::labels>,
           .read = to_execution<&Execution::labels>},
    Column{.name = "session",
           .type = Type::uuid,
           .put = [](Array& to, const NewRow& row) { to.uuid(row.item->born_running->session); },
           .inserts = Insert::guards,
           .value = "CASE WHEN born THEN born_session END",
           .moves = true,
           .read = to_execution<&Execution::session>},
    Column{.name = "claim_number",
           .type = Type::int8,
           .put = [](Array& to, const NewRow& row) { to.int8(row.item->born_running->claim_number); },
           .inserts = Insert::guards,
           .value = "CASE WHEN born THEN born_claim END"},
    Column{.name = "worker", .live = "x.worker", .read = to_execution<&Execution::worker>},
    Column{.name = "limit_key",
           .put = [](Array& to, const NewRow& row) { to.optional_bytes(encoded(row.item->limit_key)); },
           .inserts = Insert::general,
           .is_usual = [](const NewExecution& item) { return !item.limit_key; },
           .moves = true,
           .retried = true,
           .claim = to_claim<&Claim::limit_key>,
           .read = to_execution<&Execution::limit_key>},
    Column{.name = "sequence",
           .type = Type::int8,
           .put = [](Array& to, const NewRow& row) { to.optional_int8(row.sequence); },
           .inserts = Insert::general,
           .value = "CASE WHEN limit_key IS NOT NULL THEN coalesce(sequence, {next}) END"},
    Column{.name = "weight",
           .type = Type::int4,
           .put = [](Array& to, const NewRow& row) { row.item->weight == 1 ? to.null() : to.int4(row.item->weight); },
           .inserts = Insert::general,
           .is_usual = [](const NewExecution& item) { return item.weight == 1; },
           .replaced = true,
           .moves = true,
           .retried = true,
           .live = "coalesce(l.weight, 1)",
           .history = "coalesce(h.weight, 1)",
           .read = to_execution<&Execution::weight>},
    Column{.name = "inbox", .claim = to_claim<&Claim::inbox>},  // NULL reads as 0
    Column{.name = "cancel_requested", .history = "false", .read = to_execution<&Execution::cancel_requested>},
    Column{.name = "progress", .history = "NULL::double precision", .read = to_execution<&Execution::progress>},
    Column{.name = "progress_message", .history = "NULL::text", .read = to_execution<&Execution::progress_message>},
    Column{.name = "parked", .live = "l.state = 3", .history = "false", .read = to_execution<&Execution::parked>},
    Column{.name = "waiting",
           .live = "coalesce(l.left_by = 7, false) AND l.state <> 1",
           .history = "false",
           .read = to_execution<&Execution::waiting>},
    Column{.name = "stuck", .history = "NULL::text", .read = to_execution<&Execution::stuck>},
    Column{.name = "dead", .live = "false", .read = to_execution<&Execution::dead>},
    Column{.name = "retried_as", .live = "NULL::uuid", .read = to_execution<&Execution::retried_as>},
    Column{.name = "continued_as", .live = "NULL::uuid", .read = to_execution<&Execution::continued_as>},
    Column{.name = "note", .live = "NULL::text", .read = to_execution<&Execution::note>},
};

// The columns of whole executions in one of the tables.
std::string execution_columns(std::string_view Column::*expression, std::string_view prefix, bool payloads) {
  std::string list;
  for (const Column& column : table) {
    if (column.read == nullptr) { continue; }
    list += list.empty() ? "" : ", ";
    if (!payloads && column.name == "input") {
      list += "''::bytea";
    } else if (!payloads && column.name == "result") {
      list += "NULL::bytea";
    } else {
      list += (column.*expression).empty() ? std::string(prefix) + std::string(column.name)
                                           : std::string(column.*expression);
    }
    list += " AS " + std::string(column.name);
  }
  return list;
}

}  // namespace

std::span<const Column> all_columns() { return table; }

std::string names(bool Column::*is, std::string_view prefix) {
  std::string list;
  for (const Column& column : table) {
    if (column.*is) { list += (list.empty() ? "" : ", ") + std::string(prefix) + std::string(column.name); }
  }
  return list;
}

std::string with_execution_columns(std::string_view text, bool payloads) {
  return fill(text, {{"{live}", execution_columns(&Column::live, "l.", payloads)},
                     {"{history}", execution_columns(&Column::history, "h.", payloads)}});
}

ExecutionRow read_execution(const Result& result, int row) {
  RowReader reader(result, row);
  ExecutionRow read;
  for (const Column& column : table) {
    if (column.read != nullptr) { column.read(reader, read); }
  }
  return read;
}

std::string with_claimed_columns(std::string_view text) {
  std::string list;
  for (const Column& column : table) {
    if (column.claim != nullptr) { list += (list.empty() ? "l." : ", l.") + std::string(column.name); }
  }
  return fill(text, {{"{claimed}", list}});
}

ClaimRow read_claimed(RowReader& reader) {
  ClaimRow read;
  for (const Column& column : table) {
    if (column.claim != nullptr) { column.claim(reader, read); }
  }
  return read;
}

}  // namespace hapax::store::postgres
