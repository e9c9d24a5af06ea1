#include "store/postgres/turn.hpp"

#include "model/labels.hpp"
#include "model/refusal.hpp"
#include "store/postgres/admit_many.hpp"
#include "store/postgres/inbox.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

using namespace model;

// Locks identities before the runs' own rows, in the order of admission: identities, then live rows.
constexpr Statement turn_steps_lock_identities{"hapax_turn_identities", R"(
WITH found AS MATERIALIZED (
  SELECT u.place, l.id, l.identity FROM unnest($1::int[], $2::uuid[]) u(place, id)
  JOIN {s}.live l ON l.id = ANY (ARRAY[u.id]) WHERE l.identity IS NOT NULL ORDER BY l.identity)
SELECT f.place FROM found f JOIN {s}.identities i ON i.identity = ANY (ARRAY[f.identity]) AND i.execution = f.id FOR UPDATE OF i)"};

// Looks up each row by its id, as advance_head in turn.cpp does.
constexpr Statement lock_runs{"hapax_turn_lock", R"(
SELECT u.place FROM unnest($1::int[], $2::uuid[], $3::bigint[]) u(place, id, fence)
CROSS JOIN LATERAL (
  SELECT l.id FROM {s}.live l WHERE l.id = u.id AND l.fence = u.fence AND l.state + 0 = 1 OFFSET 0 FOR UPDATE) r)"};

constexpr Statement find_taken{"hapax_turn_taken", R"(
SELECT u.turn, u.place, j.fence, j.kind, j.name, j.data, j.at
FROM unnest($1::int[], $2::int[], $3::uuid[], $4::int[]) u(turn, place, execution, position)
CROSS JOIN LATERAL (
  SELECT * FROM {s}.journal x WHERE x.execution = u.execution AND x.position = u.position OFFSET 0) j)"};

constexpr Statement find_ended{"hapax_turn_ended", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT h.id, h.status, h.result, h.error, h.continued_as FROM {s}.history h
WHERE h.id = ANY ($2::uuid[]) AND h.expires_at > (SELECT now FROM t))"};

constexpr Statement turn_steps_lock_live{"hapax_turn_lock_live", R"(
SELECT id FROM {s}.live WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE)"};

constexpr Statement add_waiters{"hapax_add_waiters", R"(
UPDATE {s}.live l
SET waiters = coalesce(l.waiters, '{}') || u.waiters, waiter_positions = coalesce(l.waiter_positions, '{}') || u.positions
FROM (SELECT w.awaited, array_agg(w.waiter ORDER BY w.place) AS waiters, array_agg(w.position ORDER BY w.place) AS positions
      FROM unnest($1::uuid[], $2::uuid[], $3::int[]) WITH ORDINALITY w(awaited, waiter, position, place)
      GROUP BY w.awaited) u
WHERE l.id = ANY (ARRAY[u.awaited]))"};

bool has_twins(const std::vector<JournalEntry>& entries) {
  std::set<std::int32_t> positions;
  return !std::all_of(entries.begin(), entries.end(),
                      [&](const JournalEntry& entry) { return positions.insert(entry.position).second; });
}

}  // namespace

TurnSteps::TurnSteps(const AdmissionWork& work, std::vector<TurnItem> items)
    : work_(work),
      items_(std::move(items)),
      runs_(items_.size(), false),
      taken_(items_.size(), false),
      holds_(items_.size(), false) {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    taken_[i] = has_twins(*items_[i].entries);
    continues_ = continues_ || items_[i].continued != nullptr;
  }
}

Items TurnSteps::started_by(const std::vector<TurnItem>& items) {
  Items started;
  for (const TurnItem& item : items) {
    for (const JournalEntry& entry : *item.entries) {
      if (entry.start) { started.push_back(entry.start.get()); }
    }
    if (item.continued != nullptr) { started.push_back(item.continued->next.get()); }
  }
  return started;
}

std::vector<Call> TurnSteps::lock_calls() {
  std::vector<std::size_t> order(items_.size());
  for (std::size_t i = 0; i < order.size(); ++i) { order[i] = i; }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return items_[a].execution < items_[b].execution; });
  Array places(Type::int4), ids(Type::uuid), fences(Type::int8), old_places(Type::int4), old_ids(Type::uuid);
  Array turns(Type::int4), entries(Type::int4), executions(Type::uuid), positions(Type::int4);
  for (const std::size_t i : order) {
    const TurnItem& item = items_[i];
    places.int4(static_cast<std::int32_t>(i));
    ids.uuid(item.execution);
    fences.int8(item.fence);
    if (item.continued != nullptr) {
      old_places.int4(static_cast<std::int32_t>(i));
      old_ids.uuid(item.execution);
    }
    std::int32_t place = 0;
    for (const JournalEntry& entry : *item.entries) {
      turns.int4(static_cast<std::int32_t>(i));
      entries.int4(place++);
      executions.uuid(item.execution);
      positions.int4(entry.position);
    }
  }
  std::vector<Call> calls;
  if (continues_) {
    calls.push_back({&turn_steps_lock_identities, Params().array(std::move(old_places)).array(std::move(old_ids))});
  }
  calls.push_back({&lock_runs, Params().array(std::move(places)).array(std::move(ids)).array(std::move(fences))});
  Params params;
  params.arrays({&turns, &entries, &executions, &positions});
  calls.push_back({&find_taken, std::move(params)});
  return calls;
}

void TurnSteps::read_locks(std::span<const Result> results) {
  std::size_t call = 0;
  const auto mark = [](const Result& result, std::vector<bool>& marks) {
    for (RowReader reader : result) { marks[static_cast<std::size_t>(reader.int4())] = true; }
  };
  if (continues_) { mark(results[call++], holds_); }
  mark(results[call++], runs_);
  const Result& taken = results[call];
  for (RowReader reader : taken) {
    Kept kept;
    kept.turn = static_cast<std::size_t>(reader.int4());
    kept.place = static_cast<std::size_t>(reader.int4());
    kept.entry.fence = reader.int8();
    kept.entry.kind = static_cast<std::uint8_t>(reader.int2());
    kept.entry.name = reader.bytes();
    kept.entry.data = reader.bytes();
    kept.entry.at = reader.time();
    taken_[kept.turn] = true;
    kept_.push_back(std::move(kept));
  }
}

bool TurnSteps::goes(std::size_t index) const { return runs_[index] && !taken_[index]; }

std::optional<Time> TurnSteps::kept_since(std::size_t index) const {
  const TurnItem& item = items_[index];
  std::size_t same = 0;
  std::optional<Time> at;
  for (const Kept& kept : kept_) {
    if (kept.turn != index) { continue; }
    const JournalEntry& sent = (*item.entries)[kept.place];
    if (kept.entry.fence != item.fence || kept.entry.kind != sent.kind || kept.entry.name != sent.name ||
        kept.entry.data != sent.data) {
      return std::nullopt;
    }
    same += 1;
    at = kept.entry.at;
  }
  return same == item.entries->size() && same > 0 ? at : std::nullopt;
}

void TurnSteps::start() {
  Items starts;
  std::vector<std::pair<const TurnItem*, const JournalEntry*>> starters;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!goes(i)) { continue; }
    for (const JournalEntry& entry : *items_[i].entries) {
      if (!entry.start) { continue; }
      starts.push_back(entry.start.get());
      starters.emplace_back(&items_[i], &entry);
    }
  }
  if (starts.empty()) { return; }
  const std::vector<Admission> admissions = admit_in_transaction(work_, starts);
  for (std::size_t i = 0; i < starters.size(); ++i) { meet(admissions[i], *starters[i].first, *starters[i].second); }
  settle_ended();
}

void TurnSteps::meet(const Admission& admission, const TurnItem& item, const JournalEntry& entry) {
  if (is_refused(admission)) {
    Event event{.execution = item.execution, .kind = EventKind::refused, .position = entry.position};
    if (admission.verdict != AdmissionVerdict::queue_draining) { event.child = admission.id; }
    event.status = admission.status;
    event.error = refusal_of(admission);
    events_.push_back(std::move(event));
    return;
  }
  children_[&entry] = admission.id;
  if (admission.created()) { woken_.insert(entry.start->queue); }
  const Meeting meeting{.awaited = admission.id, .waiter = item.execution, .position = entry.position};
  (is_terminal(admission.status) ? ended_ : waiters_).push_back(meeting);
}

void TurnSteps::settle_ended() {
  while (!ended_.empty()) {
    std::vector<Uuid> ids;
    for (const Meeting& meeting : ended_) { ids.push_back(meeting.awaited); }
    const Result found = work_.connection.query(find_ended, Params().int8(work_.offset_us).array(uuid_array(ids)));
    std::unordered_map<Uuid, Event> told;
    std::unordered_map<Uuid, Uuid> continued;
    for (RowReader reader : found) {
      Event event{.kind = EventKind::ended, .child = reader.uuid()};
      event.status = static_cast<Status>(reader.int2());
      event.data = reader.optional_bytes();
      if (const auto error = reader.optional_bytes()) { event.error = decode_error(*error); }
      if (const auto next = reader.optional_uuid()) { continued.emplace(*event.child, *next); }
      told.emplace(*event.child, std::move(event));
    }
    std::vector<Meeting> moved;
    ids.clear();
    for (Meeting meeting : std::exchange(ended_, {})) {
      if (const auto next = continued.find(meeting.awaited); next != continued.end()) {
        meeting.awaited = next->second;
        ids.push_back(meeting.awaited);
        moved.push_back(meeting);
      } else if (const auto event = told.find(meeting.awaited); event != told.end()) {
        events_.push_back(event->second);
        events_.back().execution = meeting.waiter;
        events_.back().position = meeting.position;
      } else {
        refuse_expired(meeting);
      }
    }
    if (moved.empty()) { return; }
    std::set<Uuid> live;
    const Result locked = work_.connection.query(turn_steps_lock_live, Params().array(uuid_array(ids)));
    for (RowReader reader : locked) { live.insert(reader.uuid()); }
    for (const Meeting& meeting : moved) { (live.contains(meeting.awaited) ? waiters_ : ended_).push_back(meeting); }
  }
}

void TurnSteps::refuse_expired(const Meeting& meeting) {
  events_.push_back({.execution = meeting.waiter,
                     .kind = EventKind::refused,
                     .position = meeting.position,
                     .child = meeting.awaited,
                     .error = expired_error()});
}

Call TurnSteps::wait_call() const {
  Array awaited(Type::uuid), waiters(Type::uuid), positions(Type::int4);
  for (const Meeting& meeting : waiters_) {
    awaited.uuid(meeting.awaited);
    waiters.uuid(meeting.waiter);
    positions.int4(meeting.position);
  }
  return {&add_waiters, Params().array(std::move(awaited)).array(std::move(waiters)).array(std::move(positions))};
}

void TurnSteps::add_next_runs(std::vector<Call>& calls) {
  std::vector<NextRun> runs;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const TurnItem& item = items_[i];
    if (item.continued == nullptr || !goes(i)) { continue; }
    next_.push_back(as_next_run(*item.continued->next));
    runs.push_back({.before = item.execution, .turn = item.continued, .item = &next_.back(), .holds = holds_[i]});
    woken_.insert(next_.back().queue);
  }
  if (!runs.empty()) { add_next_run_calls(calls, runs, work_.queues, work_.offset_us); }
}

std::vector<Call> TurnSteps::calls() {
  std::vector<Call> calls;
  if (!waiters_.empty()) { calls.push_back(wait_call()); }
  if (!events_.empty()) { calls.push_back(events_call(events_, work_.offset_us)); }
  if (continues_) { add_next_runs(calls); }
  return calls;
}

namespace {

using namespace model;

// The dedup window stays. The fingerprint is cleared, as no request gave the next run's input.
constexpr Statement next_runs_repoint{"hapax_next_identities", R"(
UPDATE {s}.identities i
SET execution = u.next, run = l.run + 1, fingerprint = NULL, created_at = {now} + $1::bigint
FROM unnest($2::uuid[], $3::uuid[]) u(before, next) JOIN {s}.live l ON l.id = ANY (ARRAY[u.before])
WHERE i.identity = l.identity AND i.execution = u.before)"};

// Signals that the old run has not used, and a cancellation that it has not seen, come first in the new inbox, in their
// order. The keys of all other signals are kept under numbers below zero, so that a repeated signal still changes
// nothing.
constexpr Statement carry{"hapax_next_carry", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
run AS MATERIALIZED (
  SELECT * FROM unnest($2::uuid[], $3::uuid[], $4::bigint[], $5::boolean[]) u(before, next, seen, holds)),
wanted AS MATERIALIZED (SELECT DISTINCT * FROM unnest($6::uuid[], $7::bigint[]) u(before, number)),
signal AS MATERIALIZED (
  SELECT r.next, e.number, e.kind, e.name, e.data, e.error, e.signal_key,
         e.number > 0 AND (e.number > r.seen OR w.number IS NOT NULL) AS carried
  FROM run r JOIN {s}.events e ON e.execution = r.before AND (e.kind = 0 OR e.kind = 3 AND e.number > r.seen)
  LEFT JOIN wanted w ON w.before = r.before AND w.number = e.number),
carried AS (
  INSERT INTO {s}.events (execution, number, at, kind, name, data, error, signal_key)
  SELECT s.next, row_number() OVER (PARTITION BY s.next ORDER BY s.number), t.now, s.kind, s.name, s.data, s.error,
         s.signal_key
  FROM signal s CROSS JOIN t WHERE s.carried
  RETURNING execution),
remembered AS (
  INSERT INTO {s}.events (execution, number, at, kind, signal_key)
  SELECT s.next, -row_number() OVER (PARTITION BY s.next ORDER BY s.number), t.now, 0, s.signal_key
  FROM signal s CROSS JOIN t WHERE NOT s.carried AND s.signal_key LIKE 'k:%')
UPDATE {s}.live n
SET run = o.run + 1, identity = CASE WHEN r.holds THEN o.identity END, identity_key = o.identity_key,
    effect_key = o.effect_key, parent = o.parent, labels = o.labels,
    waiters = o.waiters, waiter_positions = o.waiter_positions,
    inbox = (SELECT nullif(count(*), 0) FROM carried c WHERE c.execution = r.next)
FROM run r JOIN {s}.live o ON o.id = ANY (ARRAY[r.before])
WHERE n.id = ANY (ARRAY[r.next]))"};

}  // namespace

NewExecution as_next_run(const NewExecution& next) {
  NewExecution item = next;
  item.identity.reset();
  item.effect_key.reset();
  item.parent.reset();
  item.labels = {};
  item.born_running.reset();
  item.seed.reset();
  return item;
}

void add_next_run_calls(std::vector<Call>& calls, const std::vector<NextRun>& runs, const QueueIds& queues,
                        std::int64_t offset_us) {
  std::vector<NewRow> rows;
  Array held(Type::uuid), held_next(Type::uuid);
  Array before(Type::uuid), next(Type::uuid), seen(Type::int8), holds(Type::boolean);
  Array wanted(Type::uuid), numbers(Type::int8);
  for (const NextRun& run : runs) {
    rows.push_back({.item = run.item});
    before.uuid(run.before);
    next.uuid(run.item->id);
    seen.int8(run.turn->seen);
    holds.boolean(run.holds);
    if (run.holds) {
      held.uuid(run.before);
      held_next.uuid(run.item->id);
    }
    for (const std::int64_t number : run.turn->carried) {
      wanted.uuid(run.before);
      numbers.int8(number);
    }
  }
  if (std::any_of(runs.begin(), runs.end(), [](const NextRun& run) { return run.holds; })) {
    calls.push_back({&next_runs_repoint, Params().int8(offset_us).array(std::move(held)).array(std::move(held_next))});
  }
  calls.push_back(insert_past_draining_call(rows, queues, offset_us));
  Params params;
  params.int8(offset_us).arrays({&before, &next, &seen, &holds, &wanted, &numbers});
  calls.push_back({&carry, std::move(params)});
}

}  // namespace hapax::store::postgres
