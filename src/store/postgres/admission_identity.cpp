#include "store/postgres/admission.hpp"
#include "store/postgres/endings.hpp"
#include "store/postgres/holders.hpp"
#include "store/postgres/insert_rows.hpp"
#include "store/postgres/planting.hpp"
#include "store/postgres/sql_error.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <set>

namespace hapax::store::postgres {

namespace {

using namespace model;

// Repoints identities to new runs. Their rows are locked by this transaction, so each is there.
constexpr Statement repoint{"hapax_repoint_identities", R"(
UPDATE {s}.identities i
SET execution = u.execution, run = u.run, fingerprint = u.fingerprint, created_at = {now} + $1::bigint,
    hold_for = greatest(coalesce(u.dedup_window, (SELECT q.dedup_window_us FROM {s}.queues q WHERE q.id = u.queue_id)),
                        u.throttle),
    hold_until = NULL, ended_as = NULL, ended_at = NULL
FROM unnest($2::bytea[], $3::uuid[], $4::int[], $5::bytea[], $6::bigint[], $7::bigint[], $8::int[])
       u(identity, execution, run, fingerprint, dedup_window, throttle, queue_id)
WHERE i.identity = u.identity)"};

// A parked one is back in the line, where its key is looked at anew.
constexpr Statement replace_statement{"hapax_replace", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
item AS MATERIALIZED (
  SELECT u.id, u.input, u.identity, u.fingerprint, coalesce(u.at, t.now + u.delay) AS due, t.now
  FROM t, unnest($2::uuid[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bytea[])
         u(id, input, delay, at, identity, fingerprint)),
held AS (
  UPDATE {s}.identities i SET fingerprint = item.fingerprint FROM item WHERE i.identity = item.identity)
UPDATE {s}.live l SET input = item.input, run_at = item.due, state = CASE WHEN item.due > item.now THEN 2 ELSE 0 END
FROM item WHERE l.id = item.id)"};

constexpr Statement reserve{"hapax_reserve_sequence", "SELECT {next} FROM generate_series(1, $1::int)"};

Admission created(const NewExecution& item, int run, const Inserted& inserted) {
  Admission admission{.id = item.id, .run = run, .created_at = inserted.now};
  if (inserted.born_running.contains(item.id)) {
    admission.status = Status::running;
    admission.fence = 1;
  }
  return admission;
}

Admission admitted_before(const Uuid& id, const LiveHolder& live) {
  return {.id = id, .status = live.status, .run = live.run, .created_at = live.created_at};
}

Admission admitted_before(const Holder& holder) {
  return {.id = holder.id, .status = holder.status, .run = holder.run, .created_at = holder.created_at};
}

Holder as_holder(const Admission& admission, const NewExecution& item) {
  Holder holder;
  holder.id = admission.id;
  holder.status = admission.status;
  holder.run = admission.run;
  holder.created_at = admission.created_at;
  holder.fingerprint = item.identity->fingerprint;
  return holder;
}

// None when the holder would have to make way.
std::optional<Admission> answer_of(const Holder& holder, const NewExecution& item, Time now) {
  AdmissionDecision decision = decide_admission(holder, *item.identity, now);
  return decision.step == AdmissionStep::answer ? std::optional(std::move(decision.admission)) : std::nullopt;
}

bool may_displace(const NewExecution& item) {
  return item.identity &&
         (item.identity->reuse == Reuse::allow || item.identity->on_conflict == OnConflict::terminate_existing ||
          item.identity->mode != IdentityMode::hold);
}

HolderQuestion question_of(const NewExecution& item) {
  const IdentityClaim& claim = *item.identity;
  const bool replaces = claim.mode == IdentityMode::debounce || claim.mode == IdentityMode::keep_last;
  HolderQuestion question{.identity = claim.hash, .asking = item.id};
  question.terminates = replaces || claim.on_conflict == OnConflict::terminate_existing;
  question.reuses = replaces || claim.reuse == Reuse::allow;
  if (claim.mode == IdentityMode::throttle) { question.throttle = claim.throttle; }
  return question;
}

struct Displacing {
  std::size_t index = 0;
  int run = 1;
  std::optional<Uuid> terminated;
};

struct Replacing {
  Uuid id;
  const NewExecution* by = nullptr;
};

// Steps through a batch in an open transaction.
class Stepper {
 public:
  Stepper(const AdmissionWork& work, const Items& items) : work_(work), items_(items), answers_(items.size()) {}

  std::vector<Admission> run() {
    reserve_sequences();
    // Each round answers at least the first unanswered item of every identity, unless its holder vanished meanwhile.
    for (std::size_t round = 0; round < items_.size() + 3; ++round) {
      if (!step()) {
        plant(work_.connection, fresh_, work_.offset_us);
        std::vector<Admission> admissions;
        for (auto& answer : answers_) { admissions.push_back(std::move(*answer)); }
        return admissions;
      }
    }
    throw StoreBusy("identities change hands too fast");
  }

 private:
  // So that those of a batch keep their order among their limit key, whatever the round that admits them.
  void reserve_sequences() {
    const auto keyed = std::count_if(items_.begin(), items_.end(), [](const auto* item) { return item->limit_key; });
    sequences_.resize(items_.size());
    if (keyed < 2) { return; }
    const Result numbers = work_.connection.query(reserve, Params().int4(static_cast<std::int32_t>(keyed)));
    int row = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i]->limit_key) { sequences_[i] = RowReader(numbers, row++).int8(); }
    }
  }

  bool step() {
    std::set<base::Digest> seen;
    std::vector<std::size_t> indexes;
    std::vector<NewRow> rows;
    for (std::size_t index = 0; index < items_.size(); ++index) {
      const NewExecution& item = *items_[index];
      if (answers_[index] || (item.identity && !seen.insert(item.identity->hash).second)) { continue; }
      indexes.push_back(index);
      rows.push_back({.item = &item, .takes_identity = item.identity.has_value(), .sequence = sequences_[index]});
    }
    if (indexes.empty()) { return false; }
    const Inserted inserted = insert(rows);
    std::vector<std::size_t> losers;
    for (const std::size_t index : indexes) {
      const NewExecution& item = *items_[index];
      if (item.identity && !inserted.took_identity.contains(item.id)) {
        losers.push_back(index);
      } else if (drains(item, inserted)) {
        answers_[index] = Admission{.verdict = AdmissionVerdict::queue_draining};
      } else {
        answers_[index] = created(item, 1, inserted);
        fresh_.push_back(&item);
      }
    }
    if (!losers.empty()) { meet_holders(losers, inserted); }
    return true;
  }

  Inserted insert(const std::vector<NewRow>& rows) {
    const Call call = insert_call(rows, work_.queues, work_.offset_us);
    return read_inserted(work_.connection.query(*call.statement, call.params));
  }

  [[nodiscard]] bool drains(const NewExecution& item, const Inserted& inserted) const {
    return !inserted.draining.empty() && inserted.draining.contains(work_.queues.id(item.queue));
  }

  void meet_holders(const std::vector<std::size_t>& losers, const Inserted& inserted) {
    std::vector<base::Digest> identities;
    std::vector<Uuid> asking;
    for (const std::size_t index : losers) {
      identities.push_back(items_[index]->identity->hash);
      asking.push_back(items_[index]->id);
    }
    const auto [now, held, live] = lock_holders(work_.connection, identities, asking, work_.offset_us);
    std::vector<Displacing> displacing;
    std::vector<Replacing> replacing;
    for (const std::size_t index : losers) {
      const NewExecution& item = *items_[index];
      const auto found = held.find(item.identity->hash);
      const bool draining = drains(item, inserted);
      if (const auto before = live.find(item.id); before != live.end()) {
        answers_[index] = admitted_before(item.id, before->second);
        continue;
      }
      if (found == held.end()) {
        if (draining) { answers_[index] = Admission{.verdict = AdmissionVerdict::queue_draining}; }
        continue;  // it vanished after the insert met it: the next round takes it
      }
      const auto& holder = found->second.holder;
      Displacing next{.index = index};
      if (holder) {
        if (holder->id == item.id) {
          answers_[index] = admitted_before(*holder);
          continue;
        }
        AdmissionDecision decision = decide_admission(*holder, *item.identity, now);
        if (decision.step == AdmissionStep::replace) { replacing.push_back({.id = holder->id, .by = &item}); }
        if (decision.step == AdmissionStep::answer || decision.step == AdmissionStep::replace) {
          answers_[index] = std::move(decision.admission);
          continue;
        }
        next.run = holder->run + 1;
        if (decision.step == AdmissionStep::terminate_and_new_run) { next.terminated = holder->id; }
      }
      if (draining) {
        answers_[index] = Admission{.verdict = AdmissionVerdict::queue_draining};
      } else {
        displacing.push_back(next);
      }
    }
    if (!replacing.empty()) { replace(replacing); }
    if (!displacing.empty()) { displace(displacing); }
  }

  void replace(const std::vector<Replacing>& replacing) {
    Array ids(Type::uuid), inputs(Type::bytea), delays(Type::int8), at(Type::int8), identities(Type::bytea);
    Array fingerprints(Type::bytea);
    for (const Replacing& one : replacing) {
      ids.uuid(one.id);
      inputs.bytes(one.by->input);
      delays.int8(one.by->delay.count());
      at.optional_int8(one.by->run_at ? std::optional(one.by->run_at->time_since_epoch().count()) : std::nullopt);
      identities.digest(one.by->identity->hash);
      one.by->identity->fingerprint ? fingerprints.digest(*one.by->identity->fingerprint) : fingerprints.null();
    }
    Params params;
    params.int8(work_.offset_us);
    for (Array* array : {&ids, &inputs, &delays, &at, &identities, &fingerprints}) { params.array(std::move(*array)); }
    work_.connection.query(replace_statement, params);
  }

  void displace(const std::vector<Displacing>& displacing) {
    std::vector<Ending> endings;
    std::vector<NewRow> rows;
    Array identities(Type::bytea), executions(Type::uuid), runs(Type::int4), fingerprints(Type::bytea);
    Array windows(Type::int8), throttles(Type::int8), queues(Type::int4);
    for (const Displacing& one : displacing) {
      const NewExecution& item = *items_[one.index];
      if (one.terminated) {
        endings.push_back({.id = *one.terminated,
                           .status = Status::cancelled,
                           .error = cancelled_error("terminated by a newer request")});
      }
      rows.push_back({.item = &item, .run = one.run, .sequence = sequences_[one.index]});
      identities.digest(item.identity->hash);
      executions.uuid(item.id);
      runs.int4(one.run);
      item.identity->fingerprint ? fingerprints.digest(*item.identity->fingerprint) : fingerprints.null();
      const std::optional<Duration>& window = item.identity->dedup_window;
      windows.optional_int8(window ? std::optional(window->count()) : std::nullopt);
      throttles.optional_int8(throttle_of(*item.identity));
      queues.int4(work_.queues.id(item.queue));
    }
    if (!endings.empty()) {
      const Call call = end_call(endings, work_.offset_us);
      work_.freed.add_ended(work_.connection.query(*call.statement, call.params));
    }
    Params params;
    params.int8(work_.offset_us);
    for (Array* array : {&identities, &executions, &runs, &fingerprints, &windows, &throttles, &queues}) {
      params.array(std::move(*array));
    }
    work_.connection.query(repoint, params);
    const Inserted inserted = insert(rows);
    for (const Displacing& one : displacing) {
      const NewExecution& item = *items_[one.index];
      const bool draining = drains(item, inserted);
      answers_[one.index] =
          draining ? Admission{.verdict = AdmissionVerdict::queue_draining} : created(item, one.run, inserted);
      if (!draining) { fresh_.push_back(&item); }
    }
  }

  const AdmissionWork& work_;
  const Items& items_;
  std::vector<std::optional<Admission>> answers_;
  std::vector<std::optional<std::int64_t>> sequences_;
  Items fresh_;  // what was inserted
};

}  // namespace

std::vector<Admission> admit_in_transaction(const AdmissionWork& work, const Items& items) {
  return Stepper(work, items).run();
}

// 3 statements in 1 round trip: lock timeout, insert, holders.
std::optional<Answers> admit_simple_identities(const AdmissionWork& work, const Items& items, Duration patience) {
  std::map<base::Digest, std::size_t> first;
  std::vector<NewRow> rows;
  std::vector<HolderQuestion> questions;
  for (std::size_t index = 0; index < items.size(); ++index) {
    const NewExecution& item = *items[index];
    if (item.identity && !first.emplace(item.identity->hash, index).second) {
      if (may_displace(item)) { return std::nullopt; }
      continue;
    }
    rows.push_back({.item = &item, .takes_identity = item.identity.has_value()});
    if (item.identity) { questions.push_back(question_of(item)); }
  }
  std::vector<Call> calls;
  calls.push_back(lock_patience(patience));
  calls.push_back(insert_call(rows, work.queues, work.offset_us));
  calls.push_back(ask_holders(questions, work.offset_us));
  std::vector<Result> results;
  try {
    results = work.connection.pipeline(calls, "postgres.admit.before_commit");
  } catch (const SqlError& error) {
    if (error.is_division_by_zero()) { return std::nullopt; }
    throw;
  }
  const Inserted inserted = read_inserted(results[1]);
  const HeldIdentities held = read_holders(results[2]);
  Answers answers;
  for (const NewExecution* item : items) {
    const bool draining = !inserted.draining.empty() && inserted.draining.contains(work.queues.id(item->queue));
    if (!item->identity) {
      answers.push_back(draining ? Admission{.verdict = AdmissionVerdict::queue_draining}
                                 : created(*item, 1, inserted));
      continue;
    }
    const NewExecution& winner = *items[first.at(item->identity->hash)];
    const bool won = inserted.took_identity.contains(winner.id);
    const auto holder = held.find(item->identity->hash);
    if (won && &winner == item) {
      answers.push_back(created(*item, 1, inserted));
    } else if (won) {
      answers.push_back(answer_of(as_holder(created(winner, 1, inserted), winner), *item, inserted.now));
    } else if (holder != held.end()) {
      answers.push_back(answer_of(*holder->second.holder, *item, inserted.now));
    } else if (draining) {
      answers.push_back(Admission{.verdict = AdmissionVerdict::queue_draining});
    } else {
      // Held by this very id (asked again), or the first of its kind met a draining queue.
      answers.push_back(std::nullopt);
    }
  }
  return answers;
}

}  // namespace hapax::store::postgres
