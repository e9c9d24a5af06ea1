#include "store/postgres/advance.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

using namespace model;

// The row locks keep the runs from being lost or finished until the entries are committed. OFFSET 0 and `+ 0` make the
// planner look up each run by its id. Otherwise it may scan all running rows, which seem few while the table is empty.
constexpr std::string_view advance_head = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
run AS MATERIALIZED (
  SELECT r.id, u.place FROM unnest($2::int[], $3::uuid[], $4::bigint[]) u(place, id, fence)
  CROSS JOIN LATERAL (
    SELECT l.id FROM {s}.live l WHERE l.id = u.id AND l.fence = u.fence AND l.state + 0 = 1
    OFFSET 0 FOR NO KEY UPDATE) r),
kept AS ()";

const Statement& advance_statement() {
  static const std::string& text =
      keep_text(std::string(advance_head) + append_sql(5, "run") + ")\nSELECT run.place, t.now FROM run CROSS JOIN t");
  static const Statement statement{"hapax_advance", text.c_str()};
  return statement;
}

// The main SELECT locks the rows before the entries are written.
constexpr std::string_view advance_all_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
kept AS ({entries})
SELECT t.now, 1 / CASE WHEN cardinality($2::uuid[]) = (
    SELECT count(*) FROM unnest($2::uuid[], $3::bigint[]) u(id, fence)
    CROSS JOIN LATERAL (
      SELECT FROM {s}.live l WHERE l.id = u.id AND l.fence = u.fence AND l.state + 0 = 1
      OFFSET 0 FOR NO KEY UPDATE) r) THEN 1 ELSE 0 END
FROM t)";

const Statement& advance_all_statement() {
  static constexpr std::string_view mark = "{entries}";
  static const std::string& text = keep_text([] {
    std::string whole(advance_all_text);
    return whole.replace(whole.find(mark), mark.size(), append_all_sql(4));
  }());
  static const Statement statement{"hapax_advance_all", text.c_str()};
  return statement;
}

constexpr Statement clear_lost{"hapax_clear_lost", R"(
UPDATE {s}.live l SET lost = 0 FROM unnest($1::uuid[], $2::bigint[]) u(id, fence)
WHERE l.id = ANY (ARRAY[u.id]) AND l.fence = u.fence AND l.state + 0 = 1 AND l.lost > 0)"};

}  // namespace

AdvanceBatch::AdvanceBatch(std::span<const Advance> turns) : turns_(turns), barred_(turns.size(), false) {
  order_.reserve(turns.size());
  for (std::size_t i = 0; i < turns.size(); ++i) { order_.push_back(i); }
  std::sort(order_.begin(), order_.end(),
            [&](std::size_t a, std::size_t b) { return turns[a].execution < turns[b].execution; });
}

std::vector<Call> AdvanceBatch::calls(const Children& children, std::int64_t offset_us) const {
  Array places(Type::int4), ids(Type::uuid), fences(Type::int8), forgiven(Type::uuid), forgiven_fences(Type::int8);
  EntryArrays entries;
  bool clears = false;
  for (const std::size_t i : order_) {
    const Advance& turn = turns_[i];
    if (barred_[i]) { continue; }
    places.int4(static_cast<std::int32_t>(i));
    ids.uuid(turn.execution);
    fences.int8(turn.fence);
    entries.add(turn.execution, turn.fence, turn.entries, children);
    if (turn.clears_lost) {
      forgiven.uuid(turn.execution);
      forgiven_fences.int8(turn.fence);
      clears = true;
    }
  }
  Params params;
  params.int8(offset_us).array(std::move(places)).array(std::move(ids)).array(std::move(fences));
  entries.append_to(params);
  std::vector<Call> calls;
  calls.push_back({&advance_statement(), std::move(params)});
  if (clears) { calls.push_back({&clear_lost, Params().array(std::move(forgiven)).array(std::move(forgiven_fences))}); }
  return calls;
}

std::optional<Call> AdvanceBatch::call_of_all(std::int64_t offset_us) const {
  const bool plain = std::all_of(turns_.begin(), turns_.end(), [](const Advance& turn) { return !turn.clears_lost; });
  if (!plain) { return std::nullopt; }
  Array ids(Type::uuid, turns_.size()), fences(Type::int8, turns_.size());
  EntryArrays entries(turns_.size());
  for (const std::size_t i : order_) {
    ids.uuid(turns_[i].execution);
    fences.int8(turns_[i].fence);
    entries.add(turns_[i].execution, turns_[i].fence, turns_[i].entries, {});
  }
  Params params;
  params.int8(offset_us).array(std::move(ids)).array(std::move(fences));
  entries.append_six_to(params);
  return Call{&advance_all_statement(), std::move(params)};
}

void AdvanceBatch::read_all(const Result& result, std::vector<AdvanceReply>& replies) {
  const Time at = RowReader(result, 0).time();
  for (AdvanceReply& reply : replies) { reply = {.verdict = FinishVerdict::accepted, .at = at}; }
}

void AdvanceBatch::read(const Result& result, std::vector<AdvanceReply>& replies) {
  for (int row = 0; row < result.rows(); ++row) {
    RowReader reader(result, row);
    const auto place = static_cast<std::size_t>(reader.int4());
    replies[place] = {.verdict = FinishVerdict::accepted, .at = reader.time()};
  }
}

}  // namespace hapax::store::postgres
