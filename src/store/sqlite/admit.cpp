// Admission. Without identity: 1 INSERT per item and 1 SELECT per queue of the batch; identity tables are not touched.
// With identity: 1 INSERT more for a new identity; for a held one that INSERT, which does nothing, and up to 4 SELECTs;
// for a pending holder that is replaced, 1 SELECT and 2 or 3 UPDATEs. With a limit key: 1 INSERT more, and 1 SELECT if
// the key is ordered. With a seed: 1 INSERT per entry and event, 1 UPDATE. A guard: 1 SELECT more per session of the
// batch; a guard that takes a holder over, the cost of take_over. A name: 1 SELECT more where its identity is not new.
// In a batch of eight or more items with identities, most INSERTs have 32 or 8 rows.
#include "model/claim_limits.hpp"
#include "model/labels.hpp"
#include "model/retry.hpp"
#include "store/sqlite/limited.hpp"
#include "store/sqlite/line.hpp"
#include "store/sqlite/live_row.hpp"
#include "store/sqlite/many_rows.hpp"
#include "store/sqlite/verbs.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

namespace hapax::store::sqlite {

namespace {

constexpr const char* admit_insert_sql =
    "INSERT INTO live(id, queue_id, line, state, priority, run_at, lost, fence, attempt, session, claim_number, "
    "claimed_at,"
    " cancel_requested, deadline, task, kind, created_at, max_attempts, max_lost, run, attempt_timeout, retry, "
    "identity,"
    " identity_key, effect_key, parent, labels, input, limit_key, weight, waited)"
    " VALUES (?1,?2,?3,?4,?5,?6,0,?7,?7,?8,?9,?10,0,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25,?26,"
    "?27,?28)";
constexpr const char* replace_sql =
    "UPDATE live SET line = ?, state = ?, priority = ?, run_at = ?, deadline = ?, max_attempts = ?, max_lost = ?,"
    " attempt_timeout = ?, retry = ?, labels = ?, weight = ?, input = ? WHERE id = ?";
constexpr const char* place_sql = "SELECT queue_id, limit_key, task FROM live WHERE id = ?";
constexpr const char* overtake_sql = "UPDATE live SET cancel_reason = ? WHERE id = ? AND cancel_reason IS NULL";
constexpr const char* present_sql = "SELECT state, run, created_at FROM live WHERE id = ?";
constexpr const char* any_due_sql = "SELECT 1 FROM live INDEXED BY live_line WHERE line BETWEEN ? AND ? LIMIT 1";
constexpr const char* any_delayed_due_sql =
    "SELECT 1 FROM live INDEXED BY live_line WHERE line = ? AND run_at <= ? LIMIT 1";

bool has_row(Cursor& cursor) { return cursor.next(); }

// The queue in which the last check found nothing due. A birth under a session keeps this true; any other admission
// ends it.
struct Clear {
  std::int64_t queue_id = 0;
};

// Whether the execution may be born running: no limit, pause, delay or earlier due execution prevents it.
bool may_be_born_running(WriteTransaction& tx, const BornRunning& born, const QueueRow& queue, Time run_at,
                         const Clear& clear) {
  if (queue.limited() || queue.settings.paused || run_at > tx.now() || tx.worker_of(born.session) == nullptr) {
    return false;
  }
  return clear.queue_id == queue.id ||
         (!has_row(tx.db().use(any_due_sql).bind(line::ready(queue.id).first, line::suspect(queue.id).last)) &&
          !has_row(tx.db().use(any_delayed_due_sql).bind(line::delayed(queue.id), tx.now())));
}

// A guard may run only under an existing session of its caller whose lease is not over.
bool may_run(WriteTransaction& tx, const NewExecution& item) {
  return item.kind != Kind::guard || tx.is_live(item.born_running->session);
}

Admission created(const Uuid& id, Status status, int run, Time created_at) {
  return {.verdict = AdmissionVerdict::created, .id = id, .status = status, .run = run, .created_at = created_at};
}

// The answer when the id is live already: the request is a duplicate of an earlier one.
std::optional<Admission> present(WriteTransaction& tx, const Uuid& id) {
  Cursor cursor = tx.db().use(present_sql);
  if (!cursor.bind(id).next()) { return std::nullopt; }
  return created(id, cursor.small(0) == 1 ? Status::running : Status::pending, cursor.small(1), cursor.time(2));
}

std::optional<std::string> retry_of(const NewExecution& item) {
  return item.retry ? std::optional(encode_retry(*item.retry)) : std::nullopt;
}

std::optional<int> weight_of(const NewExecution& item) {
  return item.weight == 1 ? std::nullopt : std::optional(item.weight);
}

// Gives the pending holder every field of the request except its id, identity and effect key.
void replace(WriteTransaction& tx, const Uuid& id, const NewExecution& by) {
  FoundLive found(tx, id);
  Waiting held = waiting_like(*found, by.run_at.value_or(tx.now() + by.delay), found->attempt);
  held.priority = by.priority;
  found.done();
  const Place place = place_of(held.queue_id, held.priority, held.lost, held.run_at, tx.now());
  const std::optional<Time> deadline = by.deadline ? std::optional(tx.now() + *by.deadline) : std::nullopt;
  tx.db()
      .use(replace_sql)
      .bind(place.line, static_cast<int>(place.state), by.priority, held.run_at, deadline, by.max_attempts, by.max_lost,
            by.attempt_timeout, retry_of(by), encode_labels(by.labels), weight_of(by), by.input, id)
      .run();
  if (held.limit_key) {
    // The holder may have been the execution of its key that was claimable.
    key_waits(
        tx,
        {.id = id, .queue_id = held.queue_id, .key = *held.limit_key, .priority = held.priority, .run_at = held.run_at},
        true);
  }
  change_fingerprint(tx, by.identity->hash, by.identity->fingerprint);
}

HolderPlace place_of_holder(WriteTransaction& tx, const Uuid& id, const NewExecution& item) {
  const QueueRow* const queue = tx.queues().find(item.queue);
  Cursor cursor = tx.db().use(place_sql);
  if (queue == nullptr || !cursor.bind(id).next() || cursor.integer(0) != queue->id) {
    return HolderPlace::other_queue;
  }
  const std::optional<std::string> key =
      item.limit_key ? std::optional(encode_limit_key(*item.limit_key)) : std::nullopt;
  if (cursor.optional(1, &Cursor::string) != key) { return HolderPlace::other_key; }
  return cursor.text(2) == item.task ? HolderPlace::same : HolderPlace::other_task;
}

Admission insert(WriteTransaction& tx, const NewExecution& item, const QueueRow& queue, int run, bool* waited,
                 Clear& clear) {
  Birth birth;
  birth.run = run;
  birth.waited = waited != nullptr;
  birth.run_at = item.run_at.value_or(tx.now() + item.delay);
  if (item.deadline) { birth.deadline = tx.now() + *item.deadline; }
  if (item.kind == Kind::guard || (item.born_running && !item.limit_key &&
                                   may_be_born_running(tx, *item.born_running, queue, birth.run_at, clear))) {
    birth.running = &*item.born_running;
  }
  clear.queue_id = birth.running != nullptr && item.kind != Kind::guard && !item.seed ? queue.id : 0;
  if (!insert_live(tx, item, queue, birth)) {
    if (item.identity) { unhold_identity(tx, item.identity->hash); }
    return present(tx, item.id).value_or(Admission{});
  }
  if (waited != nullptr) { *waited = true; }
  if (item.seed) { plant(tx, item.id, *item.seed); }
  Admission admission = created(item.id, birth.running != nullptr ? Status::running : Status::pending, run, tx.now());
  if (birth.running != nullptr) { admission.fence = 1; }
  return admission;
}

// Admits an item whose identity is in the table already: an execution holds it, or held it.
Admission admit_known(WriteTransaction& tx, const NewExecution& item, bool* waited) {
  if (std::optional<Admission> again = present(tx, item.id)) { return *again; }
  const IdentityClaim& identity = *item.identity;
  const std::optional<IdentityRow> before = find_identity(tx.db(), identity.hash);
  std::optional<Holder> holder = before ? find_holder(tx.db(), *before, tx.now()) : std::nullopt;
  AdmissionDecision decision;
  if (holder) {
    if (holder->id == item.id) { return created(holder->id, holder->status, holder->run, holder->created_at); }
    if (latest_counts(identity.mode) && !is_terminal(holder->status)) {
      holder->place = place_of_holder(tx, holder->id, item);
    }
    decision = decide_admission(*holder, identity, tx.now());
    if (decision.step == AdmissionStep::take_over) {
      if (!may_run(tx, item)) { return {.verdict = AdmissionVerdict::session_gone, .id = item.id}; }
      decision.admission.fence = take_over(tx, holder->id, item);
      return decision.admission;
    }
    if (decision.step == AdmissionStep::replace) { replace(tx, holder->id, item); }
    if (decision.step == AdmissionStep::answer || decision.step == AdmissionStep::replace) {
      decision.admission.holds_name = !identity.name || name_owner(tx, *identity.name) == identity.hash;
      return decision.admission;
    }
  }
  if (identity.name && name_owner(tx, *identity.name).value_or(identity.hash) != identity.hash) {
    return {.verdict = AdmissionVerdict::name_taken};
  }
  const QueueRow& queue = tx.queues().get(item.queue);
  if (queue.settings.draining) { return {.verdict = AdmissionVerdict::queue_draining}; }
  if (!may_run(tx, item)) { return {.verdict = AdmissionVerdict::session_gone, .id = item.id}; }
  IdentityRow row;
  row.fingerprint = identity.fingerprint;
  row.hold_for = hold_for(identity, queue.settings);
  row.name = identity.name;
  if (holder) {
    row.run = holder->run + 1;
    if (decision.step == AdmissionStep::terminate_and_new_run) {
      terminate(tx, holder->id, terminated_reason);
      if (is_told_termination(item)) {
        write_act(tx, {{item.labels.actor}, "execution.cancel", holder->id, terminated_reason});
      }
      holder->status = Status::cancelled;
    }
    if (decision.overtakes) { tx.db().use(overtake_sql).bind(overtaken_reason, holder->id).run(); }
    mark_superseded(tx, identity.hash, *holder);
  } else if (before) {
    // The earlier execution no longer holds the identity, but its record may still exist: a stub.
    mark_superseded(tx, identity.hash, {.id = before->execution, .status = Status::completed});
  }
  hold_identity(tx, identity.hash, item.id, row);
  Clear nowhere;
  return insert(tx, item, queue, row.run, waited, nowhere);
}

// Inserts the item's identity; false if the table has it. Most identities are new, and then this INSERT is the only
// check.
bool takes_identity(WriteTransaction& tx, const NewExecution& item, const QueueRow& queue) {
  IdentityRow row;
  row.fingerprint = item.identity->fingerprint;
  row.hold_for = hold_for(*item.identity, queue.settings);
  row.name = item.identity->name;
  return hold_new_identity(tx, item.identity->hash, item.id, row);
}

Admission admit_with_identity(WriteTransaction& tx, const NewExecution& item, bool* waited, Clear& clear) {
  const QueueRow* const queue = tx.queues().find(item.queue);
  const bool is_open = queue != nullptr && !queue->settings.draining && may_run(tx, item);
  if (is_open && takes_identity(tx, item, *queue)) { return insert(tx, item, *queue, 1, waited, clear); }
  clear = {};
  return admit_known(tx, item, waited);
}

// Batches of at least this many items take their identities in key order, which is the order of the index pages.
constexpr std::size_t worth_sorting = rows_min;

// After this many known identities in one batch, more are likely: the rest are inserted one by one.
constexpr int known_expected_max = 8;

// The queue of each item; empty unless all items have identities and their queues are not draining.
std::vector<const QueueRow*> queues_of_sortable(WriteTransaction& tx, std::span<const NewExecution> items) {
  std::vector<const QueueRow*> queues;
  if (items.size() < worth_sorting) { return queues; }
  queues.reserve(items.size());
  for (const NewExecution& item : items) {
    const QueueRow* const queue = item.identity ? tx.queues().find(item.queue) : nullptr;
    if (queue == nullptr || queue->settings.draining || !may_run(tx, item)) { return {}; }
    queues.push_back(queue);
  }
  return queues;
}

// The items' indexes, ordered by identity; equal identities keep their order in the batch.
std::vector<std::size_t> by_identity(std::span<const NewExecution> items) {
  struct Key {
    std::uint64_t begin;  // the hash's first 8 bytes, which differ for almost all
    std::size_t place;
  };
  std::vector<Key> keys;
  keys.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const base::Digest& hash = items[i].identity->hash;
    keys.push_back({std::accumulate(hash.begin(), hash.begin() + 8, std::uint64_t{0},
                                    [](std::uint64_t begin, std::uint8_t byte) { return begin << 8 | byte; }),
                    i});
  }
  std::ranges::sort(keys, [&](const Key& one, const Key& other) {
    if (one.begin != other.begin) { return one.begin < other.begin; }
    return std::tie(items[one.place].identity->hash, one.place) <
           std::tie(items[other.place].identity->hash, other.place);
  });
  std::vector<std::size_t> order;
  order.reserve(keys.size());
  for (const Key& key : keys) { order.push_back(key.place); }
  return order;
}

std::vector<bool> take_identities(WriteTransaction& tx, std::span<const NewExecution> items,
                                  std::span<const QueueRow* const> queues) {
  std::vector<bool> taken(items.size(), false);
  const std::vector<std::size_t> order = by_identity(items);
  std::array<NewHolder, rows_max> holders;
  int known = 0;
  for (std::size_t next = 0; next < order.size();) {
    const std::size_t rows = known < known_expected_max ? rows_of_next(order.size() - next) : 0;
    if (rows > 0) {
      for (std::size_t row = 0; row < rows; ++row) {
        holders[row] = {&items[order[next + row]], queues[order[next + row]]};
      }
      const std::size_t made = hold_new_identities(tx, std::span(holders).first(rows));
      for (const std::size_t end = next + made; next < end; ++next) { taken[order[next]] = true; }
      if (made == rows) { continue; }
      ++known;
    }
    const std::size_t one = order[next++];
    taken[one] = takes_identity(tx, items[one], *queues[one]);
  }
  return taken;
}

// Inserts items that go together. Adds an admission for each, up to the first whose id is live already.
void insert_together(WriteTransaction& tx, std::span<const NewExecution> items, std::span<const QueueRow* const> queues,
                     Clear& clear, std::vector<Admission>& admissions) {
  const NewExecution& first = items.front();
  const Time run_at = first.run_at.value_or(tx.now() + first.delay);
  const bool born_running =
      first.born_running && may_be_born_running(tx, *first.born_running, *queues.front(), run_at, clear);
  clear.queue_id = born_running ? queues.front()->id : 0;
  const std::size_t made = insert_live_together(tx, items, queues, born_running);
  for (const NewExecution& item : items.first(made)) {
    admissions.push_back(created(item.id, born_running ? Status::running : Status::pending, 1, tx.now()));
    if (born_running) { admissions.back().fence = 1; }
  }
}

// If two items have one identity, the first takes the identity and is inserted before the second meets it.
std::vector<Admission> admit_sorted(WriteTransaction& tx, std::span<const NewExecution> items,
                                    std::span<const QueueRow* const> queues) {
  const std::vector<bool> taken = take_identities(tx, items, queues);
  std::vector<Admission> admissions;
  admissions.reserve(items.size());
  Clear clear;
  while (admissions.size() < items.size()) {
    const std::size_t first = admissions.size();
    std::size_t end = first;
    while (end < items.size() && end < first + rows_max && taken[end] && go_together(items[first], items[end])) {
      ++end;
    }
    const std::size_t rows = rows_of_next(end - first);
    if (rows > 0) { insert_together(tx, items.subspan(first, rows), queues.subspan(first, rows), clear, admissions); }
    end = first + std::max<std::size_t>(rows, 1);
    for (std::size_t i = admissions.size(); i < end; ++i) {
      if (taken[i]) {
        admissions.push_back(insert(tx, items[i], *queues[i], 1, nullptr, clear));
      } else {
        clear = {};
        admissions.push_back(admit_known(tx, items[i], nullptr));
      }
    }
  }
  return admissions;
}

}  // namespace

void terminate(WriteTransaction& tx, const Uuid& id, std::string_view reason) {
  FoundLive found(tx, id);
  if (found) {
    end_by_others(tx, found,
                  {.status = Status::cancelled,
                   .error = cancelled_error(reason),
                   .started_at = found->session ? found->claimed_at : std::nullopt});
  }
}

bool insert_live(WriteTransaction& tx, const NewExecution& item, const QueueRow& queue, const Birth& birth) {
  const Place place = birth.running != nullptr
                          ? Place{.line = line::running(birth.running->session), .state = LiveState::running}
                          : place_of(queue.id, item.priority, 0, birth.run_at, tx.now());
  const int claims = birth.running != nullptr ? 1 : 0;
  std::optional<Uuid> session;
  std::optional<Time> claimed_at;
  std::int64_t claim_number = 0;
  if (birth.running != nullptr) {
    session = birth.running->session;
    claim_number = birth.running->claim_number;
    claimed_at = tx.now();
  }
  const std::optional<std::string> retry = retry_of(item);
  std::optional<base::Digest> identity;
  std::optional<std::string_view> identity_key;
  if (item.identity) {
    identity = item.identity->hash;
    identity_key = item.identity->key;
  } else if (!birth.identity_key.empty()) {
    identity_key = birth.identity_key;
  }
  const std::optional<std::string> labels = encode_labels(item.labels);
  std::optional<std::string> limit_key;
  if (item.limit_key) { limit_key = encode_limit_key(*item.limit_key); }
  const std::optional<int> weight = weight_of(item);
  const std::optional<int> waited = birth.waited ? std::optional(1) : std::nullopt;
  Cursor cursor = tx.db().use(admit_insert_sql);
  cursor.bind(item.id, queue.id, place.line, static_cast<int>(place.state), item.priority, birth.run_at, claims,
              session, claim_number, claimed_at, birth.deadline, item.task, static_cast<int>(item.kind), tx.now(),
              item.max_attempts, item.max_lost, birth.run, item.attempt_timeout, retry, identity, identity_key,
              item.effect_key, item.parent, labels, item.input, limit_key, weight, waited);
  if (!cursor.run_unless_taken()) { return false; }
  if (limit_key) {
    tx.queues().mark_keyed(queue);
    join_key(
        tx,
        {.id = item.id, .queue_id = queue.id, .key = *limit_key, .priority = item.priority, .run_at = birth.run_at});
  }
  return true;
}

namespace {

Admission admit_one(WriteTransaction& tx, const NewExecution& item, bool* waited, Clear& clear) {
  if (item.identity) { return admit_with_identity(tx, item, waited, clear); }
  const QueueRow& queue = tx.queues().get(item.queue);
  if (queue.settings.draining) {
    return present(tx, item.id).value_or(Admission{.verdict = AdmissionVerdict::queue_draining});
  }
  return insert(tx, item, queue, 1, waited, clear);
}

}  // namespace

Admission admit(WriteTransaction& tx, const NewExecution& item, bool* waited) {
  Clear nowhere;
  return admit_one(tx, item, waited, nowhere);
}

Admission admit(WriteTransaction& tx, const NewExecution& item) { return admit(tx, item, nullptr); }

std::vector<Admission> admit(WriteTransaction& tx, std::span<const NewExecution> items) {
  if (const std::vector<const QueueRow*> queues = queues_of_sortable(tx, items); !queues.empty()) {
    return admit_sorted(tx, items, queues);
  }
  std::vector<Admission> admissions;
  admissions.reserve(items.size());
  Clear clear;
  for (const NewExecution& item : items) { admissions.push_back(admit_one(tx, item, nullptr, clear)); }
  return admissions;
}

}  // namespace hapax::store::sqlite
