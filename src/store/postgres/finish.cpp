#include "store/postgres/finish.hpp"

#include "model/labels.hpp"
#include "store/postgres/endings.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

using namespace model;

// left_by is the kind of the finish that took the execution off the fence it has.
constexpr Statement left_by_statement{"hapax_left_by", R"(
SELECT u.place, coalesce(l.left_by, h.left_by)
FROM unnest($1::int[], $2::uuid[], $3::bigint[]) u(place, id, fence)
LEFT JOIN {s}.live l ON l.id = u.id
LEFT JOIN LATERAL (SELECT x.fence, x.left_by FROM {s}.history x WHERE l.id IS NULL AND x.id = u.id LIMIT 1) h ON true
WHERE u.fence = coalesce(l.fence, h.fence) AND coalesce(l.left_by, h.left_by) IS NOT NULL)"};

bool goes_on(FinishKind kind) {
  return kind == FinishKind::retry || kind == FinishKind::snoozed || kind == FinishKind::released;
}

std::optional<Status> final_status(FinishKind kind) {
  switch (kind) {
    case FinishKind::completed: return Status::completed;
    case FinishKind::failed: return Status::failed;
    case FinishKind::cancelled: return Status::cancelled;
    case FinishKind::timed_out: return Status::timed_out;
    case FinishKind::retry:
    case FinishKind::snoozed:
    case FinishKind::released: break;
  }
  return std::nullopt;
}

std::optional<std::string> encoded_error(const Finish& finish) {
  return finish.error ? std::optional(encode_error(*finish.error)) : std::nullopt;
}

Ending ending_of(const Finish& finish) {
  Ending ending{.id = finish.id, .fence = finish.fence, .status = final_status(finish.kind), .left_by = finish.kind};
  ending.ran_for = finish.ran_for;
  if (finish.kind == FinishKind::completed) {
    ending.result = finish.result;
  } else if (ending.status) {
    ending.error = encoded_error(finish);
  }
  return ending;
}

Waiting waiting_of(const Finish& finish) {
  return {.id = finish.id,
          .fence = finish.fence,
          .why = static_cast<BackInLine>(finish.kind),
          .error = encoded_error(finish),
          .delay = finish.delay,
          .ran_for = finish.ran_for};
}

}  // namespace

FinishBatch::FinishBatch(std::span<const Finish> finishes, std::int64_t offset_us)
    : finishes_(finishes), offset_us_(offset_us), accepted_(finishes.size(), false) {
  for (std::size_t i = 0; i < finishes.size(); ++i) {
    // A second finish of one execution in a batch is settled after the first, as a repeated one.
    if (index_.emplace(finishes[i].id, i).second) { order_.push_back(i); }
  }
  std::sort(order_.begin(), order_.end(),
            [&](std::size_t a, std::size_t b) { return finishes[a].id < finishes[b].id; });
}

std::vector<Call> FinishBatch::calls() const {
  std::vector<Ending> endings;
  std::vector<Waiting> waiting;
  for (const std::size_t i : order_) {
    const Finish& finish = finishes_[i];
    // Those that go on are among the endings too: the statement ends them if their cancellation was asked for.
    endings.push_back(ending_of(finish));
    if (goes_on(finish.kind)) { waiting.push_back(waiting_of(finish)); }
  }
  std::vector<Call> calls;
  if (!endings.empty()) { calls.push_back(end_call(endings, offset_us_)); }
  if (!waiting.empty()) { calls.push_back(wait_call(waiting, offset_us_)); }
  return calls;
}

void FinishBatch::read(const std::vector<Result>& results) {
  const std::size_t count = calls_count();
  for (std::size_t call = 0; call < count; ++call) {
    for (int row = 0; row < results[call].rows(); ++row) {
      accepted_[index_.at(RowReader(results[call], row).uuid())] = true;
    }
    call == 0 ? freed_.add_ended(results[call]) : freed_.add_waiting(results[call]);
  }
}

std::size_t FinishBatch::calls_count() const {
  if (finishes_.empty()) { return 0; }
  return std::any_of(finishes_.begin(), finishes_.end(), [](const Finish& finish) { return goes_on(finish.kind); }) ? 2
                                                                                                                    : 1;
}

void FinishBatch::settle_open(Connection& connection) {
  std::vector<Ending> cancelled;
  Array places(Type::int4), ids(Type::uuid), fences(Type::int8);
  for (std::size_t i = 0; i < finishes_.size(); ++i) {
    if (accepted_[i]) { continue; }
    if (goes_on(finishes_[i].kind)) { cancelled.push_back(ending_of(finishes_[i])); }
    places.int4(static_cast<std::int32_t>(i));
    ids.uuid(finishes_[i].id);
    fences.int8(finishes_[i].fence);
  }
  if (!cancelled.empty()) {
    const Call call = end_call(cancelled, offset_us_);
    freed_.add_ended(connection.query(*call.statement, call.params));
  }
  const Result result = connection.query(
      left_by_statement, Params().array(std::move(places)).array(std::move(ids)).array(std::move(fences)));
  for (int row = 0; row < result.rows(); ++row) {
    RowReader reader(result, row);
    const auto place = static_cast<std::size_t>(reader.int4());
    accepted_[place] = reader.int2() == static_cast<int>(finishes_[place].kind);
  }
}

std::vector<FinishVerdict> FinishBatch::verdicts(Connection& connection) {
  if (std::find(accepted_.begin(), accepted_.end(), false) != accepted_.end()) { settle_open(connection); }
  std::vector<FinishVerdict> verdicts;
  verdicts.reserve(accepted_.size());
  for (const bool accepted : accepted_) {
    verdicts.push_back(accepted ? FinishVerdict::accepted : FinishVerdict::stale);
  }
  return verdicts;
}

}  // namespace hapax::store::postgres
