#include "store/postgres/admit.hpp"

#include <hapax/error.hpp>

#include "base/plain_path.hpp"
#include "store/postgres/admit_many.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/result.hpp"

#include <algorithm>
#include <thread>

namespace hapax::store::postgres {

namespace {

using namespace model;

constexpr Statement patience_statement{"hapax_lock_timeout", "SELECT set_config('lock_timeout', $1::text, true)"};

// Returns the fence only of a row that the claim made at its admission still holds.
constexpr Statement read_back{"hapax_admit_read_back", R"(
SELECT id, CASE state WHEN 1 THEN 1 ELSE 0 END::smallint, run, created_at, fence,
       CASE WHEN state = 1 THEN session END, claim_number
FROM {s}.live WHERE id = ANY ($1::uuid[])
UNION ALL
SELECT id, status, run, created_at, fence, NULL, NULL FROM {s}.history WHERE id = ANY ($1::uuid[]))"};

Array id_array(const Items& items) {
  Array ids(Type::uuid, items.size());
  for (const NewExecution* item : items) { ids.uuid(item->id); }
  return ids;
}

}  // namespace

model::CatalogueVersions made_by(const Items& items) {
  CatalogueVersions versions;
  for (const NewExecution* item : items) { versions.add(*item); }
  return versions;
}

bool has_names(const Items& items) {
  return std::ranges::any_of(items, [](const NewExecution* item) { return item->identity && item->identity->name; });
}

std::string lock_timeout_text(Duration patience) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(patience).count()) + "ms";
}

Call lock_patience(Duration patience) { return {&patience_statement, Params().text(lock_timeout_text(patience))}; }

// One statement: 1 round trip.
std::vector<Admission> admit_plain(const AdmissionWork& work, const Items& items) {
  std::vector<NewRow> rows;
  rows.reserve(items.size());
  for (const NewExecution* item : items) { rows.push_back({.item = item}); }
  const Call call = insert_call(rows, work.queues, work.offset_us, made_by(items));
  const Inserted inserted = read_inserted(work.connection.query(*call.statement, call.params));
  std::vector<Admission> admissions;
  admissions.reserve(items.size());
  for (const NewExecution* item : items) {
    if (!inserted.draining.empty() && inserted.draining.contains(work.queues.id(item->queue))) {
      admissions.push_back({.verdict = AdmissionVerdict::queue_draining});
      continue;
    }
    Admission admission{.id = item->id, .created_at = inserted.now};
    if (item->born_running && inserted.born_running.contains(item->id)) {
      admission.status = Status::running;
      admission.fence = 1;
    }
    admissions.push_back(std::move(admission));
  }
  return admissions;
}

std::unordered_map<Uuid, Admission> read_back_admissions(Connection& connection, const Items& items) {
  std::unordered_map<Uuid, const NewExecution*> asked;
  for (const NewExecution* item : items) { asked.emplace(item->id, item); }
  const Result result = connection.query(read_back, Params().array(id_array(items)));
  std::unordered_map<Uuid, Admission> found;
  for (RowReader reader : result) {
    Admission admission;
    admission.id = reader.uuid();
    admission.status = static_cast<Status>(reader.int2());
    admission.run = reader.int4();
    admission.created_at = reader.time();
    const std::int64_t fence = reader.int8();
    const std::optional<Uuid> session = reader.optional_uuid();
    const std::optional<std::int64_t> claim_number = reader.optional_int8();
    const auto& born = asked.at(admission.id)->born_running;
    if (born && session == born->session && claim_number == born->claim_number) { admission.fence = fence; }
    found.emplace(admission.id, std::move(admission));
  }
  return found;
}

namespace {

// One of the two places for admissions that wait for another open transaction; the others wait for a place.
class LoneTurn {
 public:
  explicit LoneTurn(std::counting_semaphore<>& turns) : turns_(turns) { turns_.acquire(); }
  LoneTurn(const LoneTurn&) = delete;
  LoneTurn& operator=(const LoneTurn&) = delete;
  ~LoneTurn() { turns_.release(); }

 private:
  std::counting_semaphore<>& turns_;
};

// From this many rows on, COPY is faster than arrays.
constexpr std::size_t copy_from = 500;

// How long a batch waits inside its transaction for an identity that another open transaction has taken, and how long
// in all. Most of that time the batch waits without a connection and without locks of its own, so that many batches
// which wait for one transaction do not block the others: each tries for a moment, rests, and tries again. A large
// batch rests longer, as each try sends all of it.
constexpr Duration batch_patience = std::chrono::milliseconds(20);
constexpr Duration whole_patience = std::chrono::seconds(30);
constexpr Duration lone_look = std::chrono::milliseconds(5);
constexpr Duration rest_min = std::chrono::milliseconds(5);
constexpr Duration lone_rest_max = std::chrono::milliseconds(100);
constexpr Duration batch_rest_max = std::chrono::milliseconds(500);

// How long a lost connection's server process may live on before the commit counts as unknown.
constexpr std::chrono::seconds decided_within{5};

constexpr Statement backend_lives{"hapax_backend_lives",
                                  "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1::int)"};

bool is_alive(Connection& connection, int backend) {
  return RowReader(connection.query(backend_lives, Params().int4(backend)), 0).boolean();
}

// How long admissions look for holders first after an admission has met one.
constexpr std::chrono::seconds holders_expected_for{10};

std::vector<const NewExecution*> point_to(std::span<const NewExecution> items) {
  std::vector<const NewExecution*> pointers;
  pointers.reserve(items.size());
  for (const NewExecution& item : items) { pointers.push_back(&item); }
  return pointers;
}

}  // namespace

// Round trips: 1 without identity (2 by COPY). With identities that are new or only answered 1 (3 by COPY), and 1 in
// vain when a holder was met for the first time in a while or a lone guard is not new. 5 or more by steps: when a
// holder is displaced, for seeds, and for names that could not be admitted as new. 1 more for a batch with a queue that
// is new to this process, and for its first limit key; 1 more when a holder with a limit key was ended.
std::vector<Admission> PostgresStore::admit_once(Connection& connection, const Items& items, Duration patience) {
  static const bool admits_plain = !base::takes_plain_path("pg-admit-plain");
  static const bool copies_plain = !base::takes_plain_path("pg-admit-copy");
  static const bool inserts_new = !base::takes_plain_path("pg-admit-new");
  static const bool copies_new = !base::takes_plain_path("pg-admit-new-copy");
  static const bool answers_held = !base::takes_plain_path("pg-admit-held");
  static const bool begins_lone_guard = !base::takes_plain_path("pg-lone-guard");
  bool identity = false;
  bool copies = items.size() >= copy_from;
  bool seeded = false;
  for (const NewExecution* item : items) {
    identity = identity || item->identity;
    seeded = seeded || item->seed;
    copies = copies && can_be_copied(*item);
  }
  copies = copies && (identity ? copies_new : copies_plain);
  ensure_queues(connection, items);
  FreedKeys freed;
  const AdmissionWork work{.connection = connection, .queues = queue_ids_, .offset_us = offset_us(), .freed = freed};
  std::vector<Admission> admissions;
  if (!identity && !seeded && (copies || admits_plain)) {
    if (!copies) { connection.fault_point("postgres.admit.before_commit"); }
    admissions = copies ? admit_by_copy(work, items) : admit_plain(work, items);
    connection.fault_point("postgres.admit.after_commit");
    return admissions;
  }
  const bool guards = std::ranges::all_of(items, [](const NewExecution* item) { return is_guard(*item); });
  if (begins_lone_guard && guards && items.size() == 1 && !seeded) {
    if (auto begun = admit_lone_guard(work, *items.front(), patience)) {
      connection.fault_point("postgres.admit.after_commit");
      return {std::move(*begun)};
    }
  }
  Obstacle obstacle = Obstacle::unlike;
  if (!seeded && !guards && !expects_holders() && (copies || inserts_new)) {
    if (auto fresh = copies ? copy_new_identities(work, items, patience, obstacle)
                            : insert_new_identities(work, items, patience, obstacle)) {
      connection.fault_point("postgres.admit.after_commit");
      return std::move(*fresh);
    }
    if (obstacle == Obstacle::held) { expect_holders(); }
  }
  std::optional<std::vector<Admission>> simple;
  // Items with names are admitted by steps, which look up the names' owners before they insert. Items of a draining
  // queue are too, because their identities may be free or held.
  if (answers_held && !seeded && !has_names(items) && obstacle != Obstacle::draining) {
    simple = admit_simple_identities(work, items, patience);
  }
  if (simple) {
    admissions = std::move(*simple);
  } else {
    TransactionGuard guard(connection);
    const Call waiting = lock_patience(patience);
    connection.query(*waiting.statement, waiting.params);
    admissions = admit_in_transaction(work, items);
    guard.commit();
  }
  unpark(connection, freed);
  connection.fault_point("postgres.admit.after_commit");
  return admissions;
}

thread_local const PostgresStore* PostgresStore::lending = nullptr;

void PostgresStore::check_not_lending() const {
  if (lending == this) {
    throw UsageError("this thread has a lent transaction open; use it, or call after it has ended");
  }
}

bool PostgresStore::expects_holders() const {
  return steady_seconds() < holders_expected_until_.load(std::memory_order_relaxed);
}

void PostgresStore::expect_holders() {
  holders_expected_until_.store(steady_seconds() + holders_expected_for.count(), std::memory_order_relaxed);
}

void PostgresStore::ensure_queues(Connection& connection, const Items& items) {
  queue_ids_.ensure(connection, queue_ids_.unknown(items));
  if (std::any_of(items.begin(), items.end(), [](const NewExecution* item) { return item->limit_key.has_value(); })) {
    ensure_keyed(connection, items);
  }
}

void PostgresStore::ensure_keyed(Connection& connection, const Items& items) {
  const std::vector<QueueRef> unkeyed = queue_ids_.unkeyed(items);
  queue_ids_.ensure_keyed(connection, unkeyed, offset_us());
  for (const QueueRef& queue : unkeyed) { limited_.add(queue); }
}

// Admits, and after a lost answer reads back which ids are stored: those were admitted, the rest is requested again. An
// id that the first, still unfinished transaction inserts meanwhile is a unique violation, and is read back too.
//
// The server process of the lost connection must be gone before ids are requested again. A stalled process may still
// have the first request to read, and would admit the same ids once more after their executions have run and left
// `live`. This function never terminates that process: a commit that waits for a replica would then be visible but not
// safe. Behind a pooler PQbackendPID names no process of the server, and ids are requested again at once
// (docs/operating/running.md).
std::vector<Admission> PostgresStore::admit_until_known(const Items& items, Duration patience) {
  std::unordered_map<Uuid, Admission> known;
  std::vector<Admission> answered;
  Items open = items;
  bool unknown = false;  // an earlier attempt may still commit
  bool silent = false;   // a server left an attempt without an answer: all attempts together keep to the answer timeout
  const auto begun = std::chrono::steady_clock::now();
  for (int attempt = 1; !open.empty(); ++attempt) {
    bool lost = false;
    std::optional<int> lost_backend;
    try {
      const Pool::Lease lease = pool_.acquire();
      lost_backend = PQbackendPID(lease->native());
      std::optional<Connection::AnswerLimit> rest;
      if (silent) { rest.emplace(*lease, settings_.read_back_time()); }
      answered = admit_once(*lease, open, patience);
      break;
    } catch (const SqlError& error) {
      lost_backend.reset();
      lost = error.is_unique_violation() && attempt < lost_attempts;
      if (!lost && !may_repeat(error, attempt)) {
        if (!unknown) { throw; }
        throw CommitUnknown(settings_.location + ": " + error.what() + "; whether the enqueue was kept is not known");
      }
    } catch (const ConnectionBroken&) {
      pool_.drop_idle();
      lost = true;
      unknown = true;
      silent = silent || settings_.learned->unanswering.load();
    } catch (const CatalogueChanged& error) {
      if (!unknown) { throw; }
      throw CommitUnknown(settings_.location + ": " + error.what() + "; whether the enqueue was kept is not known");
    } catch (const CommitUnknown&) { throw; } catch (const StoreUnavailable& error) {
      if (!unknown) { throw; }
      throw CommitUnknown(std::string(error.what()) + "; whether the enqueue was kept is not known");
    }
    if (lost) {
      known.merge(read_back_until_known(open, lost_backend));
      std::erase_if(open, [&](const NewExecution* item) { return known.contains(item->id); });
      const bool late = silent && std::chrono::steady_clock::now() - begun >= settings_.answer_timeout;
      if (!open.empty() && (late || attempt >= lost_attempts)) {
        throw CommitUnknown(settings_.location + ": no answer after " + std::to_string(attempt) +
                            " attempts; whether the enqueue was kept is not known");
      }
    }
    back_off(attempt);
  }
  std::vector<Admission> admissions;
  admissions.reserve(items.size());
  std::size_t next = 0;
  for (const NewExecution* item : items) {
    const auto found = known.find(item->id);
    admissions.push_back(found != known.end() ? std::move(found->second) : std::move(answered[next++]));
  }
  return admissions;
}

std::unordered_map<Uuid, Admission> PostgresStore::read_back_until_known(const Items& items,
                                                                         std::optional<int> lost_backend) {
  const auto give_up = std::chrono::steady_clock::now() + decided_within;
  for (int attempt = 1;; ++attempt) {
    try {
      const Pool::Lease lease = acquire_to_read_back();
      for (int look = 1;; ++look) {
        // Check the process before the ids: ids that are missing once the process is gone will never appear.
        const bool is_decided = !lost_backend || !is_alive(*lease, *lost_backend);
        std::unordered_map<Uuid, Admission> found = read_back_admissions(*lease, items);
        if (is_decided || found.size() == items.size()) { return found; }
        if (std::chrono::steady_clock::now() >= give_up) {
          throw CommitUnknown(settings_.location + ": server process " + std::to_string(*lost_backend) +
                              " lost its connection and may still have the enqueue before it; whether it is kept is "
                              "not known");
        }
        back_off(look);
      }
    } catch (const ConnectionBroken& broken) {
      if (attempt >= lost_attempts) {
        throw CommitUnknown(settings_.location + ": " + broken.what() + "; whether the enqueue was kept is not known");
      }
      pool_.drop_idle();
    } catch (const SqlError& error) {
      throw CommitUnknown(settings_.location + ": " + error.what() + "; whether the enqueue was kept is not known");
    }
    back_off(attempt);
  }
}

std::vector<Admission> PostgresStore::admit_patiently(const Items& items) {
  const bool lone = items.size() == 1;
  const auto give_up = std::chrono::steady_clock::now() + whole_patience;
  for (Duration rest = rest_min;; rest = std::min(rest * 2, lone ? lone_rest_max : batch_rest_max)) {
    try {
      // At most two threads wait this way at a time, however many ask.
      const LoneTurn turn(lone_turns_);
      return admit_until_known(items, lone ? lone_look : batch_patience);
    } catch (const SqlError& error) {
      if (!error.is_lock_timeout()) { throw_mapped(error, settings_.location); }
      if (std::chrono::steady_clock::now() >= give_up) {
        throw StoreBusy(settings_.location + ": another open transaction has had the identity of " +
                        (lone ? "the request" : "one of the " + std::to_string(items.size()) + " requests") + " for " +
                        format_duration(whole_patience) + "; nothing was admitted");
      }
    }
    std::this_thread::sleep_for(rest);
  }
}

// Admits all items or none.
std::vector<Admission> PostgresStore::admit(std::span<const NewExecution> items) {
  check_not_lending();
  const Items pointers = point_to(items);
  try {
    return admit_until_known(pointers, batch_patience);
  } catch (const SqlError& error) {
    if (!error.is_lock_timeout()) { throw_mapped(error, settings_.location); }
  }
  return admit_patiently(pointers);
}

std::vector<Admission> PostgresStore::try_admit(std::span<const NewExecution> items) {
  check_not_lending();
  try {
    return admit_until_known(point_to(items), batch_patience);
  } catch (const SqlError& error) {
    if (error.is_lock_timeout()) {
      throw Blocked(settings_.location + ": another open transaction has the identity of one of the requests");
    }
    throw_mapped(error, settings_.location);
  }
}

}  // namespace hapax::store::postgres
