#include "store/postgres/admit_identity.hpp"
#include "store/postgres/live_row.hpp"

#include "model/claim_limits.hpp"

namespace hapax::store::postgres {

namespace {

using namespace model;

// A parked holder becomes ready or delayed again, and a claim checks its key anew.
constexpr std::string_view replace_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
item AS MATERIALIZED (
  SELECT holder, identity, fingerprint, {values}
  FROM (SELECT u.*, coalesce(u.at, t.now + u.delay) AS due, t.now, false AS born
        FROM t, unnest($2::uuid[], {arrays}) u(holder, {all})) row),
held AS (
  UPDATE {s}.identities i SET fingerprint = item.fingerprint FROM item WHERE i.identity = item.identity)
UPDATE {s}.live l SET {columns} FROM item WHERE l.id = ANY (ARRAY[item.holder]) RETURNING l.queue_id, l.limit_key)";

struct ReplaceStatement {
  InsertParams params;
  Statement statement;
};

// Never destroyed (keep_text).
const ReplaceStatement& replace_statement() {
  static const ReplaceStatement& made = []() -> const ReplaceStatement& {
    InsertParams params(&Column::replaced, {&inputs::delay, &inputs::at, &inputs::identity, &inputs::fingerprint}, 3);
    const std::string& text = keep_text(fill(replace_text, {{"{values}", replaced_values()},
                                                            {"{arrays}", params.arrays()},
                                                            {"{all}", params.all()},
                                                            {"{columns}", replaced_columns()}}));
    return *new ReplaceStatement{std::move(params), {"hapax_replace", text.c_str()}};
  }();
  return made;
}

}  // namespace

void replace(const AdmissionWork& work, const std::vector<Replacement>& replacements) {
  Array holders(Type::uuid, replacements.size());
  std::vector<NewRow> rows;
  for (const Replacement& one : replacements) {
    holders.uuid(one.id);
    rows.push_back({.item = one.by});
  }
  Params params;
  params.int8(work.offset_us).array(std::move(holders));
  replace_statement().params.add_arrays(params, rows);
  const Result replaced = work.connection.query(replace_statement().statement, params);
  for (RowReader reader : replaced) {
    const std::int32_t queue = reader.int4();
    const std::optional<std::string> key = reader.optional_bytes();
    // Another execution of the key may now become claimable in its place.
    if (key && !decode_limit_key(*key).ordered) { work.freed.add(queue, *key); }
  }
}

}  // namespace hapax::store::postgres
