#include "store/postgres/stopping.hpp"

#include "model/labels.hpp"
#include "model/parent_close.hpp"
#include "store/postgres/endings.hpp"
#include "store/postgres/telling.hpp"

#include <unordered_set>

namespace hapax::store::postgres {

namespace {

using namespace model;

constexpr Statement stopping_lock_live{"hapax_cancel_lock", R"(
SELECT id, state = 1, kind = 1 AND fence > 0, cancel_requested FROM {s}.live WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE)"};

constexpr Statement request_statement{"hapax_cancel_request", R"(
UPDATE {s}.live SET cancel_requested = true, cancel_error = $2::text
WHERE id = ANY ($1::uuid[]) AND NOT cancel_requested)"};

constexpr Statement children_statement{"hapax_children", R"(
SELECT l.id, l.labels, l.deadline, {now} + $2::bigint FROM {s}.live l WHERE l.parent = ANY ($1::uuid[]) AND l.kind = 1 ORDER BY l.id::text COLLATE "C")"};

}  // namespace

std::unordered_map<Uuid, CancelResult> stop(Connection& connection, const StopRequest& request, std::int64_t offset_us,
                                            FreedKeys& freed) {
  const std::string error = cancelled_error(request.reason);
  const std::unordered_set<Uuid> terminated(request.terminate.begin(), request.terminate.end());
  std::vector<Uuid> ids = request.cancel;
  ids.insert(ids.end(), request.terminate.begin(), request.terminate.end());
  const Result live = connection.query(stopping_lock_live, Params().array(uuid_array(ids)));
  std::unordered_map<Uuid, CancelResult> stopped;
  std::vector<Ending> endings;
  std::vector<Uuid> ended, asked;
  std::vector<Event> told;
  for (int row = 0; row < live.rows(); ++row) {
    RowReader reader(live, row);
    const Uuid id = reader.uuid();
    const bool running = reader.boolean();
    const bool begun = reader.boolean();
    if (terminated.contains(id) || (!running && !begun)) {
      endings.push_back({.id = id, .status = Status::cancelled, .error = error});
      if (begun) { ended.push_back(id); }
      stopped[id] = {.verdict = CancelVerdict::cancelled, .status = Status::cancelled};
      continue;
    }
    asked.push_back(id);
    if (begun && !reader.boolean()) {
      told.push_back({.execution = id, .kind = EventKind::cancel, .error = decode_error(error)});
    }
    stopped[id] = {.verdict = CancelVerdict::requested, .status = running ? Status::running : Status::pending};
  }
  if (!endings.empty()) {
    const Call call = end_call(endings, offset_us);
    freed.add_ended(connection.query(*call.statement, call.params));
  }
  if (!asked.empty()) { connection.query(request_statement, Params().array(uuid_array(asked)).text(error)); }
  if (!told.empty()) {
    const Call call = tell_call(told, offset_us);
    connection.query(*call.statement, call.params);
  }
  if (!ended.empty()) { close_children(connection, ended, offset_us, freed); }
  return stopped;
}

void close_children(Connection& connection, const std::vector<Uuid>& ended, std::int64_t offset_us, FreedKeys& freed) {
  const Result result = connection.query(children_statement, Params().array(uuid_array(ended)).int8(offset_us));
  StopRequest request{.reason = parent_ended};
  for (int row = 0; row < result.rows(); ++row) {
    RowReader reader(result, row);
    const Uuid id = reader.uuid();
    const auto labels = reader.optional_bytes();
    const auto deadline = reader.optional_time();
    const Time now = reader.time();
    if (closes_with_parent(labels ? decode_labels(*labels) : Labels{}, deadline, now)) { request.cancel.push_back(id); }
  }
  if (!request.cancel.empty()) { static_cast<void>(stop(connection, request, offset_us, freed)); }
}

}  // namespace hapax::store::postgres
