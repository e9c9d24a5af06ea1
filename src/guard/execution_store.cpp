#include "guard/execution_store.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/plain_path.hpp"
#include "base/text.hpp"
#include "base/uuid7.hpp"
#include "guard/fork.hpp"
#include "guard/rule.hpp"
#include "model/identity.hpp"
#include "model/retention.hpp"
#include "store/busy_if_blocked.hpp"

#include <algorithm>

namespace hapax::guard {

namespace {

// The lease of calls that are never taken over; it only sets how fresh their heartbeat is.
constexpr Duration usual_lease = std::chrono::seconds(30);
// An unlocked failure locks no key; its record is kept for operators this long, or for its ttl if that is shorter.
constexpr Duration unlocked_kept = std::chrono::hours(24);
// How many times a begin may find that the record it read has gone meanwhile.
constexpr int begin_rounds = 20;
// A doubt is a begin without an answer; beyond this number the oldest doubts are forgotten.
constexpr std::size_t most_doubts = 10'000;

GuardError begin_unknown() { return {.type = "CommitUnknown", .message = "begun without an answer, and never run"}; }

base::Digest identity_of(const GuardKey& key) {
  return model::guard_identity_hash(key.namespace_name, key.name, key.key);
}

Duration lease_of(const std::optional<Duration>& takeover_after) {
  return std::max(takeover_after.value_or(usual_lease), Duration(std::chrono::milliseconds(1)));
}

GuardStatus status_of(Status status) {
  if (!is_terminal(status)) { return GuardStatus::in_progress; }
  return status == Status::completed ? GuardStatus::completed : GuardStatus::failed;
}

void put_record(GuardRecord& record, model::Guard& guard) {
  record.status = status_of(guard.status);
  if (guard.result) { record.result = *std::move(guard.result); }
  if (guard.error) {
    record.error = GuardError{.type = std::move(guard.error->type), .message = std::move(guard.error->message)};
  }
  record.started_at = guard.started_at;
  record.completed_at = guard.finished_at;
  record.heartbeat = guard.heartbeat;
  record.fence = guard.fence;
  if (guard.expires_at && *guard.expires_at < model::end_of_time) { record.expires_at = guard.expires_at; }
  record.takeover_after = guard.takeover_after;
  record.fingerprint = guard.fingerprint;
  record.owner = std::move(guard.worker);
}

GuardRecord record_of(model::Guard guard) {
  GuardRecord record;
  put_record(record, guard);
  return record;
}

// False: no record blocks the caller, who may start or take over.
bool meets(GuardAnswer& answer, model::Guard& guard, const GuardBegin& request) {
  if (guard.abandoned) { return false; }
  answer.now = guard.now;
  const Duration age = guard.now - guard.heartbeat;
  put_record(answer.record, guard);
  if (request.fingerprint && answer.record.fingerprint && *request.fingerprint != *answer.record.fingerprint) {
    answer.begun = GuardBegun::mismatch;
    return true;
  }
  switch (answer.record.status) {
    case GuardStatus::in_progress:
      answer.begun = GuardBegun::in_progress;
      answer.takeover_in = takeover_in(answer.record, age);
      break;
    case GuardStatus::completed: answer.begun = GuardBegun::completed; break;
    case GuardStatus::failed: answer.begun = GuardBegun::failed; break;
  }
  return true;
}

// A hold of another store gives a nil ID, which no execution has.
model::Held held_of(const GuardHold& hold) {
  return {.id = Uuid::parse(hold.token).value_or(Uuid{}), .fence = hold.fence};
}

model::NewExecution request_of(const GuardBegin& request, const base::Digest& identity) {
  model::NewExecution item;
  item.id = base::new_uuid7();
  item.queue = {request.key.namespace_name, std::string(model::guard_queue)};
  item.task = request.key.name;
  item.kind = model::Kind::guard;
  item.attempt_timeout = request.takeover_after;
  item.identity = model::IdentityClaim{.hash = identity,
                                       .key = request.key.key,
                                       .fingerprint = request.fingerprint,
                                       .reuse = Reuse::reject,
                                       .dedup_window = Duration{0}};
  return item;
}

model::Keep keep_of(const GuardFinish& finish) {
  if (finish.end != GuardEnd::unlocked) { return {.period = finish.ttl}; }
  return {.period = std::min(finish.ttl.value_or(unlocked_kept), unlocked_kept), .holds_identity = false};
}

model::Finish outcome_of(const GuardHold& hold, const GuardFinish& finish, Duration ran_for) {
  model::Finish outcome;
  const model::Held held = held_of(hold);
  outcome.id = held.id;
  outcome.fence = held.fence;
  outcome.ran_for = ran_for;
  outcome.keep = keep_of(finish);
  outcome.kind = finish.end == GuardEnd::completed ? model::FinishKind::completed : model::FinishKind::failed;
  if (finish.end == GuardEnd::completed) {
    outcome.result = finish.result;
  } else {
    const GuardError error = finish.error.value_or(GuardError{});
    outcome.error = model::ErrorInfo{.type = error.type, .message = error.message, .detail = ""};
  }
  return outcome;
}

Status listed_as(GuardStatus status) {
  switch (status) {
    case GuardStatus::in_progress: return Status::running;
    case GuardStatus::completed: return Status::completed;
    case GuardStatus::failed: return Status::failed;
  }
  return Status::running;
}

}  // namespace

ExecutionStore::Place::Place(std::shared_ptr<store::Store> opened)
    : generation(process_generation()),
      store(std::move(opened)),
      admissions({.flush = [this](std::span<model::NewExecution> items) { return store->try_admit(items); },
                  .flush_alone = [this](std::span<model::NewExecution> items) { return store->admit(items); },
                  .policy = {.max_items = limits::admit_batch}}),
      outcomes({.flush = [this](std::span<model::Finish> finishes) { return store->finish(finishes); },
                .flush_alone =
                    [this](std::span<model::Finish> finishes) {
                      return store::busy_if_blocked([&] { return store->finish(finishes); });
                    },
                .size = [](const model::Finish& finish) { return finish.result.size(); },
                .policy = {.max_items = limits::finish_batch}}) {}

ExecutionStore::Place::Session ExecutionStore::Place::session(const std::optional<Duration>& takeover_after,
                                                              const std::string& owner) {
  const std::lock_guard lock(mutex);
  Session& session = sessions[lease_of(takeover_after)];
  if (session && session->has_lapsed()) { lapsed.push_back(std::move(session)); }
  if (!session) { session = std::make_shared<CallerSession>(*store, lease_of(takeover_after), owner); }
  return session;
}

std::vector<ExecutionStore::Place::Session> ExecutionStore::Place::all_sessions() {
  const std::lock_guard lock(mutex);
  std::erase_if(lapsed, [](const Session& session) { return session->is_over(); });
  std::vector<Session> all = lapsed;
  for (const auto& [lease, session] : sessions) { all.push_back(session); }
  return all;
}

void ExecutionStore::Place::add_doubt(const Uuid& id) {
  const std::lock_guard lock(mutex);
  doubts.push_back(id);
  if (doubts.size() > most_doubts) { doubts.erase(doubts.begin()); }
  has_doubts.store(true, std::memory_order_relaxed);
}

void ExecutionStore::Place::settle_doubts() {
  if (!has_doubts.load(std::memory_order_relaxed)) { return; }
  std::vector<Uuid> open;
  {
    const std::lock_guard lock(mutex);
    open.swap(doubts);
    has_doubts.store(false, std::memory_order_relaxed);
  }
  while (!open.empty()) {
    // Fence 1 is the fence of a begin: a call that has taken over since has a higher fence and is not touched.
    const GuardHold hold{.key = {}, .fence = 1, .token = open.back().to_string(), .takeover_after = {}};
    try {
      (void)finish(outcome_of(hold, {.end = GuardEnd::unlocked, .error = begin_unknown()}, Duration{0}));
    } catch (...) {
      for (const Uuid& id : open) { add_doubt(id); }
      throw;
    }
    open.pop_back();
  }
}

ExecutionStore::ExecutionStore(Open open) : open_(std::move(open)), place_(new Place(open_())) {
  const store::StoreInfo about = place_.load()->store->info();
  info_ = {.backend = about.backend,
           .location = about.location,
           .shared = about.capabilities.shared,
           .durable = about.capabilities.durable};
  reads_over_network_ = about.capabilities.remote && !base::takes_plain_path("guard-first-call");
}

ExecutionStore::~ExecutionStore() {
  Place* const last = place_.load();
  // The child must not close the parent's store.
  if (last->generation == process_generation()) { delete last; }
}

ExecutionStore::Place& ExecutionStore::place() {
  Place* present = place_.load();
  if (present->generation == process_generation()) { return *present; }
  // SQLite keeps its file locks per process and remembers them across a fork: a child that opened the file again would
  // believe that it holds its parent's locks, and both could damage the file.
  if (info_.backend == "sqlite") {
    throw UsageError(
        info_.location +
        " was opened before fork(), which SQLite does not allow for: fork first, and open it in the child");
  }
  auto fresh = std::make_unique<Place>(open_());
  // The parent's Place is left as it is: its connections and locks belong to the parent.
  if (place_.compare_exchange_strong(present, fresh.get())) { return *fresh.release(); }
  return *present;
}

GuardAnswer ExecutionStore::begin(const GuardBegin& request) {
  Place& here = place();
  here.settle_doubts();
  const base::Digest identity = identity_of(request.key);
  GuardAnswer answer;
  for (int round = 0; round < begin_rounds; ++round) {
    // A repeated call finds a record and needs only this read. When the read is a round trip, a call that is likely new
    // skips the read: the admission decides.
    const bool reads_first =
        round > 0 || !reads_over_network_ || !here.first_call_guess.is_likely_new(request.key.name);
    if (reads_first) {
      std::optional<model::Guard> found = here.store->guard_outcome(identity);
      if (found && meets(answer, *found, request)) {
        if (reads_over_network_) { here.first_call_guess.met(request.key.name); }
        return answer;
      }
    }
    model::NewExecution item = request_of(request, identity);
    const Place::Session session = here.session(request.takeover_after, request.owner);
    const std::optional<CallerSession::Ticket> ticket = session->begin();
    if (!ticket) { continue; }
    item.born_running = *ticket;
    const Uuid id = item.id;
    model::Admission admission;
    try {
      admission = here.admit(std::move(item));
    } catch (const CommitUnknown&) {
      session->given_up(*ticket);
      here.add_doubt(id);
      throw;
    } catch (...) {
      session->given_up(*ticket);
      throw;
    }
    const bool taken_over = admission.verdict == model::AdmissionVerdict::taken_over;
    if ((admission.created() || taken_over) && admission.fence) {
      const model::Held held{.id = admission.id, .fence = *admission.fence};
      session->started(*ticket, held);
      if (!taken_over) { here.first_call_guess.began(request.key.name); }
      answer.begun = GuardBegun::started;
      answer.hold = {.key = request.key,
                     .fence = *admission.fence,
                     .token = admission.id.to_string(),
                     .takeover_after = request.takeover_after};
      answer.taken_over = taken_over;
      try {
        answer.now = taken_over ? here.store->now() : admission.created_at;
      } catch (...) {
        // The caller gets no hold and runs nothing, so the next beat must not renew it.
        session->in_doubt(held);
        throw;
      }
      return answer;
    }
    session->given_up(*ticket);
    if (admission.verdict == model::AdmissionVerdict::session_gone) { session->lapsed(); }
    if (reads_first && admission.verdict == model::AdmissionVerdict::queue_draining) {
      throw StoreUnavailable(info_.location + ": the queue " + std::string(model::guard_queue) +
                             " is draining and takes no new calls");
    }
  }
  throw StoreBusy(info_.location + ": the record of " + request.key.name + " changes hands too fast");
}

std::vector<std::size_t> ExecutionStore::beat(std::span<const GuardHold> held) {
  Place& here = place();
  std::vector<bool> kept(held.size(), false);
  for (const Place::Session& session : here.all_sessions()) {
    std::vector<std::size_t> indexes;
    std::vector<model::Held> holds;
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (!session->ran_for(held_of(held[i]))) { continue; }
      indexes.push_back(i);
      holds.push_back(held_of(held[i]));
    }
    const std::vector<model::Held> lost = session->beat(holds);
    for (std::size_t i = 0; i < holds.size(); ++i) {
      kept[indexes[i]] = std::ranges::none_of(
          lost, [&](const model::Held& one) { return one.id == holds[i].id && one.fence == holds[i].fence; });
    }
  }
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (!kept[i]) { indexes.push_back(i); }
  }
  return indexes;
}

GuardVerdict ExecutionStore::finish(const GuardHold& hold, const GuardFinish& finish) {
  Place& here = place();
  const model::Held held = held_of(hold);
  Place::Session session;
  Duration ran_for{0};
  for (const Place::Session& each : here.all_sessions()) {
    if (const std::optional<Duration> ran = each->ran_for(held)) {
      session = each;
      ran_for = *ran;
    }
  }
  try {
    const model::FinishVerdict verdict = here.finish(outcome_of(hold, finish, ran_for));
    if (session) { session->ended(held); }
    return verdict == model::FinishVerdict::accepted ? GuardVerdict::accepted : GuardVerdict::stale;
  } catch (...) {
    if (session) { session->in_doubt(held); }
    throw;
  }
}

std::optional<GuardRecord> ExecutionStore::read(const GuardKey& key) {
  const std::optional<model::Guard> guard = place().store->guard(identity_of(key));
  if (!guard) { return std::nullopt; }
  GuardRecord record = record_of(*guard);
  record.key = key;
  return record;
}

// Each record is read again by its key, so that executions that no longer hold their key are left out.
GuardPage ExecutionStore::list(const GuardQuery& query) {
  check_query(query);
  store::Store& store = *place().store;
  model::ListQuery wanted;
  wanted.namespace_name = query.namespace_name;
  wanted.queue = std::string(model::guard_queue);
  wanted.task = query.name;
  wanted.kind = model::Kind::guard;
  wanted.payloads = false;
  wanted.limit = query.limit;
  if (query.status) { wanted.statuses = {listed_as(*query.status)}; }
  if (!query.after.empty()) {
    wanted.after = Uuid::parse(query.after);
    if (!wanted.after) { throw InvalidArgument("after", base::quoted(query.after) + " is not a cursor of this store"); }
  }
  const std::vector<model::Execution> executions = store.list(wanted);
  GuardPage page;
  for (const model::Execution& execution : executions) {
    if (!execution.identity || !execution.identity_key.starts_with(query.key_prefix)) { continue; }
    const std::optional<model::Guard> guard = store.guard(*execution.identity);
    if (!guard || guard->id != execution.id) { continue; }
    GuardRecord record = record_of(*guard);
    record.key = {.namespace_name = query.namespace_name, .name = execution.task, .key = execution.identity_key};
    if (matches(query, record.key, record.status)) { page.records.push_back(std::move(record)); }
  }
  if (std::ssize(executions) == wanted.limit) { page.next = executions.back().id.to_string(); }
  return page;
}

GuardForgotten ExecutionStore::forget(const GuardKey& key, bool even_in_progress) {
  store::Store& store = *place().store;
  for (int round = 0; round < begin_rounds; ++round) {
    const std::optional<model::Guard> guard = store.guard(identity_of(key));
    if (!guard) { return GuardForgotten::absent; }
    if (!is_terminal(guard->status) && !even_in_progress) { return GuardForgotten::in_progress; }
    if (store.forget_guards({&guard->id, 1}) > 0) { return GuardForgotten::forgotten; }
  }
  throw StoreBusy(info_.location + ": the record of " + key.name + " changes hands too fast");
}

std::size_t ExecutionStore::sweep(std::size_t limit) {
  const int most = static_cast<int>(std::min(limit, static_cast<std::size_t>(limits::sweep_batch)));
  return static_cast<std::size_t>(place().store->sweep({.limit = most, .retention = true}).expired);
}

GuardStoreInfo ExecutionStore::info() const { return info_; }

}  // namespace hapax::guard
