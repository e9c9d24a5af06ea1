#include "store/postgres/finish.hpp"

#include "model/labels.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

using namespace model;

// left_by is the kind of the finish that ended the attempt under the current fence. An expired record counts as absent.
constexpr Statement left_by_statement{"hapax_left_by", R"(
WITH t AS MATERIALIZED (SELECT {now} + $4::bigint AS now)
SELECT u.place, coalesce(l.left_by, h.left_by)
FROM unnest($1::int[], $2::uuid[], $3::bigint[]) u(place, id, fence)
LEFT JOIN {s}.live l ON l.id = ANY (ARRAY[u.id])
LEFT JOIN LATERAL (
  SELECT x.fence, x.left_by FROM {s}.history x
  WHERE l.id IS NULL AND x.id = u.id AND x.expires_at > (SELECT now FROM t) LIMIT 1) h ON true
WHERE u.fence = coalesce(l.fence, h.fence) AND coalesce(l.left_by, h.left_by) IS NOT NULL)"};

bool goes_on(FinishKind kind) {
  return kind == FinishKind::retry || kind == FinishKind::snoozed || kind == FinishKind::released;
}

// Whether the execution completes and has its queue's retention, as all but guards have.
bool completes(const Finish& finish) { return finish.kind == FinishKind::completed && !finish.keep; }

std::optional<Status> final_status(FinishKind kind) {
  switch (kind) {
    case FinishKind::completed: return Status::completed;
    case FinishKind::failed: return Status::failed;
    case FinishKind::cancelled: return Status::cancelled;
    case FinishKind::timed_out: return Status::timed_out;
    case FinishKind::continued: return Status::completed;
    case FinishKind::retry:
    case FinishKind::snoozed:
    case FinishKind::released:
    case FinishKind::waiting: break;
  }
  return std::nullopt;
}

std::optional<std::string> encoded_error(const Finish& finish) {
  return finish.error ? std::optional(encode_error(*finish.error)) : std::nullopt;
}

Ending ending_of(const Finish& finish) {
  Ending ending{.id = finish.id, .fence = finish.fence, .status = final_status(finish.kind), .left_by = finish.kind};
  ending.ran_for = finish.ran_for;
  if (finish.kind == FinishKind::completed || finish.kind == FinishKind::failed) { ending.keep = finish.keep; }
  if (finish.kind == FinishKind::completed) {
    ending.result = finish.result;
  } else if (finish.kind == FinishKind::continued) {
    ending.result = "null";
    ending.continued_as = finish.turn->next->id;
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

std::vector<TurnItem> turn_items(std::span<const Finish> finishes) {
  std::vector<TurnItem> items;
  for (const Finish& finish : finishes) {
    const Turn& turn = *finish.turn;
    items.push_back({.execution = finish.id,
                     .fence = finish.fence,
                     .entries = &turn.entries,
                     .continued = finish.kind == FinishKind::continued ? &turn : nullptr});
  }
  return items;
}

FinishBatch::FinishBatch(std::span<const Finish> finishes, std::int64_t offset_us, FastPath fast_path)
    : finishes_(finishes),
      offset_us_(offset_us),
      accepted_(finishes.size(), false),
      barred_(finishes.size(), false),
      fast_path_(fast_path) {
  order_.reserve(finishes.size());
  index_.reserve(finishes.size());
  for (std::size_t i = 0; i < finishes.size(); ++i) {
    // A second finish of the same execution in a batch is treated as a repetition, after the first.
    if (index_.emplace(finishes[i].id, i).second) { order_.push_back(i); }
  }
  std::sort(order_.begin(), order_.end(),
            [&](std::size_t a, std::size_t b) { return finishes[a].id < finishes[b].id; });
}

std::vector<Call> FinishBatch::calls() {
  if (finishes_.size() == 1 && fast_path_ != FastPath::none && !barred_[0] && is_plain_guard_end(finishes_[0])) {
    ends_ = true;
    calls_ = 1;
    return {end_guard_call(finishes_[0], offset_us_)};
  }
  std::vector<Ending> endings;
  std::vector<Waiting> waiting;
  std::vector<Pause> pauses;
  EndingBatch ending;
  ending.tells = fast_path_ == FastPath::none;
  ending.entries = EntryArrays(finishes_.size());
  EntryArrays of_waiting, of_pauses;
  for (const std::size_t i : order_) {
    const Finish& finish = finishes_[i];
    if (barred_[i]) { continue; }
    const auto add_entries = [&](EntryArrays& entries) {
      if (finish.turn) { entries.add(finish.id, finish.fence, finish.turn->entries, *children_); }
    };
    if (finish.kind == FinishKind::waiting) {
      pauses.push_back({.id = finish.id, .fence = finish.fence, .turn = finish.turn.get()});
      ending.later.push_back(finish.id);
      add_entries(of_pauses);
      continue;
    }
    // A finish that makes its execution pending again is among the endings too: if the cancellation was requested, that
    // statement ends the execution.
    endings.push_back(ending_of(finish));
    add_entries(ending.entries);
    if (goes_on(finish.kind)) {
      waiting.push_back(waiting_of(finish));
      ending.later.push_back(finish.id);
      add_entries(of_waiting);
    }
  }
  std::vector<Call> calls;
  all_complete_ = fast_path_ == FastPath::all_are_plain && endings.size() == finishes_.size() &&
                  std::ranges::all_of(finishes_, completes);
  if (all_complete_ && !finishes_.empty()) {
    calls.push_back(complete_all_call(endings, offset_us_, std::move(ending.entries)));
    calls_ = 1;
    return calls;
  }
  ends_ = !endings.empty();
  if (ends_) { calls.push_back(end_call(endings, offset_us_, std::move(ending))); }
  if (!waiting.empty()) { calls.push_back(wait_call(waiting, offset_us_, std::move(of_waiting))); }
  if (!pauses.empty()) { calls.push_back(pause_call(pauses, offset_us_, std::move(of_pauses))); }
  pauses_ = !pauses.empty();
  calls_ = calls.size();
  return calls;
}

std::vector<Call> FinishBatch::calls_after(TurnSteps& steps) {
  for (std::size_t i = 0; i < finishes_.size(); ++i) { barred_[i] = !steps.goes(i); }
  children_ = &steps.children();
  std::vector<Call> all = steps.calls();
  for (Call& call : calls()) { all.push_back(std::move(call)); }
  return all;
}

void FinishBatch::read(std::span<const Result> results) {
  if (all_complete_) {
    RowReader reader(results.front(), 0);
    if (reader.is_null()) {
      accepted_.assign(accepted_.size(), true);
    } else {
      for (const Uuid& id : reader.uuids()) { accepted_[index_.at(id)] = true; }
    }
    return;
  }
  for (std::size_t call = 0; call < calls_; ++call) {
    for (RowReader reader : results[call]) { accepted_[index_.at(reader.uuid())] = true; }
    if (ends_ && call == 0) {
      (void)read_ended(results[call]);
    } else {
      freed_.add_waiting(results[call]);
    }
  }
  if (pauses_) { read_paused(results[calls_ - 1]); }
}

// Reads queues in which a wait was over at once.
void FinishBatch::read_paused(const Result& result) {
  for (RowReader reader : result) {
    reader.skip(3);
    if (reader.boolean()) { woken_.insert(reader.int4()); }
  }
}

bool FinishBatch::read_ended(const Result& result) {
  freed_.add_ended(result);
  if (result.rows() == 0 || result.columns() < 4) { return false; }
  RowReader reader(result, 0);
  reader.skip(3);
  bool any = false;
  for (const std::int32_t queue : reader.int4s()) {
    woken_.insert(queue);
    any = true;
  }
  return any;
}

// Ends executions whose cancellation was requested, and those that the fast path passed over.
void FinishBatch::end_open(Connection& connection) {
  std::vector<Ending> endings;
  EndingBatch ending;
  for (const std::size_t i : order_) {
    const Finish& finish = finishes_[i];
    const bool ends = finish.kind != FinishKind::waiting && !goes_on(finish.kind);
    const bool passed_over = fast_path_ != FastPath::none && ends;
    if (accepted_[i] || barred_[i] || !(goes_on(finish.kind) || passed_over)) { continue; }
    endings.push_back(ending_of(finish));
    if (finish.turn && passed_over) { ending.entries.add(finish.id, finish.fence, finish.turn->entries, no_children_); }
  }
  if (endings.empty()) { return; }
  const Call call = end_call(endings, offset_us_, std::move(ending));
  const Result ended = connection.query(*call.statement, call.params);
  woke_late_ = read_ended(ended);
  for (RowReader reader : ended) {
    const std::size_t index = index_.at(reader.uuid());
    accepted_[index] = true;
    left_fast_path_ = left_fast_path_ || (fast_path_ != FastPath::none && !goes_on(finishes_[index].kind));
  }
}

void FinishBatch::settle_open(Connection& connection) {
  end_open(connection);
  Array places(Type::int4), ids(Type::uuid), fences(Type::int8);
  bool any = false;
  for (std::size_t i = 0; i < finishes_.size(); ++i) {
    if (accepted_[i]) { continue; }
    any = true;
    places.int4(static_cast<std::int32_t>(i));
    ids.uuid(finishes_[i].id);
    fences.int8(finishes_[i].fence);
  }
  if (!any) { return; }
  Params params;
  params.array(std::move(places)).array(std::move(ids)).array(std::move(fences)).int8(offset_us_);
  const Result result = connection.query(left_by_statement, params);
  for (RowReader reader : result) {
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
