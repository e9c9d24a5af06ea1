#include "store/postgres/admission.hpp"
#include "store/postgres/endings.hpp"
#include "store/postgres/holders.hpp"
#include "store/postgres/insert_rows.hpp"
#include "store/postgres/sql_error.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <set>

namespace hapax::store::postgres {

namespace {

using namespace model;

// Repoints identities to new runs. Their rows are locked by this transaction, so each is there.
constexpr Statement repoint{"hapax_repoint_identities", R"(
UPDATE {s}.identities i SET execution = u.execution, run = u.run, fingerprint = u.fingerprint,
                            created_at = {now} + $1::bigint, hold_until = NULL
FROM unnest($2::bytea[], $3::uuid[], $4::int[], $5::bytea[]) u(identity, execution, run, fingerprint)
WHERE i.identity = u.identity)"};

Admission created(const NewExecution& item, int run, const Inserted& inserted) {
  Admission admission{.id = item.id, .run = run, .created_at = inserted.now};
  if (inserted.born_running.contains(item.id)) {
    admission.status = Status::running;
    admission.fence = 1;
  }
  return admission;
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

bool may_displace(const NewExecution& item) {
  return item.identity &&
         (item.identity->reuse == Reuse::allow || item.identity->on_conflict == OnConflict::terminate_existing);
}

// The items of a batch in an order that locks identities by hash; equal ones stay in the caller's order.
std::vector<std::size_t> by_identity(const Items& items) {
  std::vector<std::size_t> order(items.size());
  for (std::size_t i = 0; i < order.size(); ++i) { order[i] = i; }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto& left = items[a]->identity;
    const auto& right = items[b]->identity;
    return left && right ? left->hash < right->hash : !left && right;
  });
  return order;
}

struct Displacing {
  std::size_t index = 0;
  int run = 1;
  std::optional<Uuid> terminated;
};

// Steps through a batch in an open transaction.
class Stepper {
 public:
  Stepper(const AdmissionWork& work, const Items& items) : work_(work), items_(items), answers_(items.size()) {}

  std::vector<Admission> run() {
    // Each round answers at least the first unanswered item of every identity, unless its holder vanished meanwhile.
    for (std::size_t round = 0; round < items_.size() + 3; ++round) {
      if (!step()) {
        std::vector<Admission> admissions;
        for (auto& answer : answers_) { admissions.push_back(std::move(*answer)); }
        return admissions;
      }
    }
    throw StoreBusy("identities change hands too fast");
  }

 private:
  bool step() {
    std::set<base::Digest> seen;
    std::vector<std::size_t> indexes;
    std::vector<NewRow> rows;
    for (const std::size_t index : by_identity(items_)) {
      const NewExecution& item = *items_[index];
      if (answers_[index] || (item.identity && !seen.insert(item.identity->hash).second)) { continue; }
      indexes.push_back(index);
      rows.push_back({.item = &item, .takes_identity = item.identity.has_value()});
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
    for (const std::size_t index : losers) { identities.push_back(items_[index]->identity->hash); }
    const HeldIdentities held = lock_holders(work_.connection, identities, work_.offset_us);
    std::vector<Displacing> displacing;
    for (const std::size_t index : losers) {
      const NewExecution& item = *items_[index];
      const auto found = held.find(item.identity->hash);
      const bool draining = drains(item, inserted);
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
        AdmissionDecision decision = decide_admission(*holder, *item.identity);
        if (decision.step == AdmissionStep::answer) {
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
    if (!displacing.empty()) { displace(displacing); }
  }

  void displace(const std::vector<Displacing>& displacing) {
    std::vector<Ending> endings;
    std::vector<NewRow> rows;
    Array identities(Type::bytea), executions(Type::uuid), runs(Type::int4), fingerprints(Type::bytea);
    for (const Displacing& one : displacing) {
      const NewExecution& item = *items_[one.index];
      if (one.terminated) {
        endings.push_back({.id = *one.terminated,
                           .status = Status::cancelled,
                           .error = cancelled_error("terminated by a newer request")});
      }
      rows.push_back({.item = &item, .run = one.run});
      identities.digest(item.identity->hash);
      executions.uuid(item.id);
      runs.int4(one.run);
      item.identity->fingerprint ? fingerprints.digest(*item.identity->fingerprint) : fingerprints.null();
    }
    if (!endings.empty()) {
      const Call call = end_call(endings, work_.offset_us);
      work_.connection.query(*call.statement, call.params);
    }
    Params params;
    params.int8(work_.offset_us).array(std::move(identities)).array(std::move(executions)).array(std::move(runs));
    params.array(std::move(fingerprints));
    work_.connection.query(repoint, params);
    const Inserted inserted = insert(rows);
    for (const Displacing& one : displacing) {
      const NewExecution& item = *items_[one.index];
      answers_[one.index] = drains(item, inserted) ? Admission{.verdict = AdmissionVerdict::queue_draining}
                                                   : created(item, one.run, inserted);
    }
  }

  const AdmissionWork& work_;
  const Items& items_;
  std::vector<std::optional<Admission>> answers_;
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
  for (const std::size_t index : by_identity(items)) {
    const NewExecution& item = *items[index];
    if (item.identity && !first.emplace(item.identity->hash, index).second) {
      if (may_displace(item)) { return std::nullopt; }
      continue;
    }
    rows.push_back({.item = &item, .takes_identity = item.identity.has_value()});
    if (item.identity) {
      questions.push_back({.identity = item.identity->hash,
                           .asking = item.id,
                           .terminates = item.identity->on_conflict == OnConflict::terminate_existing,
                           .reuses = item.identity->reuse == Reuse::allow});
    }
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
      answers.push_back(decide_admission(as_holder(created(winner, 1, inserted), winner), *item->identity).admission);
    } else if (holder != held.end()) {
      answers.push_back(decide_admission(*holder->second.holder, *item->identity).admission);
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
