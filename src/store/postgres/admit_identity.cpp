#include <hapax/error.hpp>

#include "store/postgres/admit_identity.hpp"
#include "store/postgres/admit_many.hpp"
#include "store/postgres/identities.hpp"
#include "store/postgres/result.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace hapax::store::postgres {

namespace {

using namespace model;

// For locked holders that differ from the request in task, queue or limit key: which of these differs (HolderPlace).
constexpr Statement places_statement{"hapax_holder_places", R"(
SELECT l.id, CASE WHEN l.queue_id <> u.queue_id THEN 3 WHEN l.limit_key IS DISTINCT FROM u.limit_key THEN 2 ELSE 1 END
FROM unnest($1::uuid[], $2::text[], $3::int[], $4::text[]) u(id, task, queue_id, limit_key)
JOIN {s}.live l ON l.id = ANY (ARRAY[u.id])
WHERE l.task <> u.task OR l.queue_id <> u.queue_id OR l.limit_key IS DISTINCT FROM u.limit_key)"};
static_assert(static_cast<int>(HolderPlace::other_task) == 1 && static_cast<int>(HolderPlace::other_queue) == 3);

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

// The answer when the holder is not displaced.
Admission answer_of(const Holder& holder, const NewExecution& item, Time now) {
  return decide_admission(holder, *item.identity, now).admission;
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

// Admits a batch step by step in an open transaction.
class Stepper {
 public:
  Stepper(const AdmissionWork& work, const Items& items)
      : work_(work), items_(items), answers_(items.size()), names_(work.connection, items), made_by_(made_by(items)) {}

  std::vector<Admission> run() {
    reserve_sequences();
    // Each round answers at least the first unanswered item of every identity, unless its holder vanished meanwhile.
    for (std::size_t round = 0; round < items_.size() + 3; ++round) {
      if (!step()) {
        seed(work_.connection, fresh_, work_.offset_us);
        std::vector<Admission> admissions;
        for (auto& answer : answers_) { admissions.push_back(std::move(*answer)); }
        return admissions;
      }
    }
    throw StoreBusy("identities change hands too fast");
  }

 private:
  // Reserved ahead, so that a batch's items keep their order within a limit key in whichever round they are admitted.
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
    std::set<base::Digest> seen, names;
    std::vector<std::size_t> indexes;
    std::vector<NewRow> rows;
    for (std::size_t index = 0; index < items_.size(); ++index) {
      const NewExecution& item = *items_[index];
      if (answers_[index] || (item.identity && !seen.insert(item.identity->hash).second)) { continue; }
      const bool is_named = item.identity && item.identity->name;
      // If two items ask for one name, the second waits for the next round, when the first one's outcome is known.
      if (is_named && !names.insert(*item.identity->name).second) { continue; }
      indexes.push_back(index);
      if (is_named && names_.is_taken(item)) { continue; }  // not inserted: answered with its holder, or refused
      rows.push_back({.item = &item, .takes_identity = item.identity.has_value(), .sequence = sequences_[index]});
    }
    if (indexes.empty()) { return false; }
    const Inserted inserted = rows.empty() ? Inserted{} : insert(rows);
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
        names_.took(item);
      }
    }
    if (!losers.empty()) { meet_holders(losers, inserted); }
    return true;
  }

  // Guards are inserted by a statement of their own.
  Inserted insert(const std::vector<NewRow>& rows) {
    std::vector<NewRow> guards, others;
    for (const NewRow& row : rows) { (is_guard(*row.item) ? guards : others).push_back(row); }
    if (guards.empty()) { return insert_alike(others); }
    Inserted inserted = insert_alike(guards);
    if (others.empty()) { return inserted; }
    Inserted more = insert_alike(others);
    more.born_running.merge(inserted.born_running);
    more.took_identity.merge(inserted.took_identity);
    more.sessions = std::move(inserted.sessions);
    return more;
  }

  Inserted insert_alike(const std::vector<NewRow>& rows) {
    const Call call = insert_call(rows, work_.queues, work_.offset_us, std::exchange(made_by_, {}));
    return read_inserted(work_.connection.query(*call.statement, call.params));
  }

  // Whether the item is a guard whose session is gone.
  [[nodiscard]] static bool is_orphan(const NewExecution& item, const Inserted& inserted) {
    return is_guard(item) && !inserted.sessions.contains(item.born_running->session);
  }

  static Admission session_gone(const NewExecution& item) {
    return {.verdict = AdmissionVerdict::session_gone, .id = item.id};
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
    const std::map<Uuid, HolderPlace> places = places_of_holders(losers, held);
    std::vector<Displacement> displacements;
    std::vector<Replacement> replacements;
    std::vector<Takeover> takeovers;
    for (const std::size_t index : losers) {
      const NewExecution& item = *items_[index];
      const auto found = held.find(item.identity->hash);
      const bool draining = drains(item, inserted);
      if (const auto before = live.find(item.id); before != live.end()) {
        answers_[index] = admitted_before(item.id, before->second);
        continue;
      }
      if (found == held.end()) {
        if (names_.is_taken(item)) {
          answers_[index] = Admission{.verdict = AdmissionVerdict::name_taken};
        } else if (draining) {
          answers_[index] = Admission{.verdict = AdmissionVerdict::queue_draining};
        } else if (is_orphan(item, inserted)) {
          answers_[index] = session_gone(item);
        }
        continue;  // the holder vanished after the insert had found it: the next round admits the item
      }
      std::optional<Holder> holder = found->second.holder;
      Displacement next{.index = index, .by = &item};
      if (holder) {
        if (holder->id == item.id) {
          answers_[index] = admitted_before(*holder);
          continue;
        }
        if (const auto place = places.find(holder->id); place != places.end()) { holder->place = place->second; }
        AdmissionDecision decision = decide_admission(*holder, *item.identity, now);
        if (decision.step == AdmissionStep::take_over) {
          if (is_orphan(item, inserted)) {
            answers_[index] = session_gone(item);
          } else {
            answers_[index] = std::move(decision.admission);
            takeovers.push_back({.id = holder->id, .by = &item, .admission = &*answers_[index]});
          }
          continue;
        }
        if (decision.step == AdmissionStep::replace) { replacements.push_back({.id = holder->id, .by = &item}); }
        if (decision.step == AdmissionStep::answer || decision.step == AdmissionStep::replace) {
          answers_[index] = std::move(decision.admission);
          answers_[index]->holds_name = names_.holds(item);
          continue;
        }
        next.run = holder->run + 1;
        if (decision.step == AdmissionStep::terminate_and_new_run) { next.terminated = holder->id; }
        if (decision.overtakes) { next.overtaken = holder->id; }
      }
      if (names_.is_taken(item)) {
        answers_[index] = Admission{.verdict = AdmissionVerdict::name_taken};
      } else if (draining) {
        answers_[index] = Admission{.verdict = AdmissionVerdict::queue_draining};
      } else if (is_orphan(item, inserted)) {
        answers_[index] = session_gone(item);
      } else {
        displacements.push_back(next);
      }
    }
    if (!takeovers.empty()) { take_over(work_.connection, takeovers, work_.offset_us); }
    if (!replacements.empty()) { replace(work_, replacements); }
    if (!displacements.empty()) { displace(displacements); }
  }

  // Reads the places only for requests in a mode in which the latest request counts (debounce, keep_last).
  std::map<Uuid, HolderPlace> places_of_holders(const std::vector<std::size_t>& losers, const HeldIdentities& held) {
    Array ids(Type::uuid), tasks(Type::text), queues(Type::int4), keys(Type::text);
    bool any = false;
    for (const std::size_t index : losers) {
      const NewExecution& item = *items_[index];
      const auto found = held.find(item.identity->hash);
      if (!latest_counts(item.identity->mode) || found == held.end() || !found->second.holder) { continue; }
      ids.uuid(found->second.holder->id);
      tasks.bytes(item.task);
      queues.int4(work_.queues.id(item.queue));
      item.limit_key ? keys.bytes(encode_limit_key(*item.limit_key)) : keys.null();
      any = true;
    }
    std::map<Uuid, HolderPlace> places;
    if (!any) { return places; }
    Params params;
    params.arrays({&ids, &tasks, &queues, &keys});
    const Result found = work_.connection.query(places_statement, params);
    for (RowReader reader : found) {
      const Uuid id = reader.uuid();
      places.emplace(id, static_cast<HolderPlace>(reader.int4()));
    }
    return places;
  }

  // A queue that has begun to drain since it was checked admits nothing; then the holders are left as they are.
  void displace(const std::vector<Displacement>& displacements) {
    const bool holders_first = std::ranges::any_of(
        displacements, [&](const Displacement& one) { return one.terminated && items_[one.index]->born_running; });
    if (holders_first && displace_holders_first(displacements)) { return; }
    const std::vector<Displacement> entered = enter(displacements, insert_runs(displacements));
    if (entered.empty()) { return; }
    end_holders(work_, entered);
    repoint_identities(work_, entered);
  }

  // Ends the holders before the insert, because a live holder would keep the new run from being born running. Returns
  // false, having done nothing, if a queue drains.
  bool displace_holders_first(const std::vector<Displacement>& displacements) {
    work_.connection.command("SAVEPOINT hapax_displace");
    const FreedKeys freed_before = work_.freed;
    end_holders(work_, displacements);
    const Inserted inserted = insert_runs(displacements);
    const bool drains_any = std::ranges::any_of(
        displacements, [&](const Displacement& one) { return drains(*items_[one.index], inserted); });
    work_.connection.command(drains_any ? "ROLLBACK TO SAVEPOINT hapax_displace" : "RELEASE SAVEPOINT hapax_displace");
    if (drains_any) {
      work_.freed = freed_before;
      return false;
    }
    repoint_identities(work_, enter(displacements, inserted));
    return true;
  }

  Inserted insert_runs(const std::vector<Displacement>& displacements) {
    std::vector<NewRow> rows;
    for (const Displacement& one : displacements) {
      rows.push_back({.item = items_[one.index], .run = one.run, .sequence = sequences_[one.index]});
    }
    return insert(rows);
  }

  // Answers each item. Returns those that were inserted.
  std::vector<Displacement> enter(const std::vector<Displacement>& displacements, const Inserted& inserted) {
    std::vector<Displacement> entered;
    for (const Displacement& one : displacements) {
      const NewExecution& item = *items_[one.index];
      if (drains(item, inserted)) {
        answers_[one.index] = Admission{.verdict = AdmissionVerdict::queue_draining};
        continue;
      }
      if (is_orphan(item, inserted)) {
        answers_[one.index] = session_gone(item);
        continue;
      }
      answers_[one.index] = created(item, one.run, inserted);
      fresh_.push_back(&item);
      entered.push_back(one);
    }
    return entered;
  }

  const AdmissionWork& work_;
  const Items& items_;
  std::vector<std::optional<Admission>> answers_;
  std::vector<std::optional<std::int64_t>> sequences_;
  Items fresh_;  // items that were inserted
  NameOwners names_;
  // Only the first insert checks the catalogue: after its first write, a caller's transaction continues under the
  // catalogue it began with.
  CatalogueVersions made_by_;
};

}  // namespace

std::vector<Admission> admit_in_transaction(const AdmissionWork& work, const Items& items) {
  return Stepper(work, items).run();
}

// 3 statements in 1 round trip: lock timeout, insert, holders.
std::optional<std::vector<Admission>> admit_simple_identities(const AdmissionWork& work, const Items& items,
                                                              Duration patience) {
  std::map<base::Digest, std::size_t> first;
  std::vector<NewRow> rows;
  std::vector<HolderQuestion> questions;
  std::vector<Uuid> ids;
  for (std::size_t index = 0; index < items.size(); ++index) {
    const NewExecution& item = *items[index];
    if (item.identity && !first.emplace(item.identity->hash, index).second) {
      if (may_displace(item)) { return std::nullopt; }
      continue;
    }
    rows.push_back({.item = &item, .takes_identity = item.identity.has_value()});
    ids.push_back(item.id);
    if (item.identity) { questions.push_back(question_of(item)); }
  }
  if (!std::ranges::all_of(rows, [&](const NewRow& row) { return is_guard(*row.item) == is_guard(*rows[0].item); })) {
    return std::nullopt;
  }
  std::vector<Call> calls;
  calls.push_back(lock_patience(patience));
  calls.push_back(insert_call(rows, work.queues, work.offset_us, made_by(items)));
  calls.push_back(ask_holders(questions, ids, work.offset_us));
  const std::vector<Result> results = work.connection.pipeline(calls, "postgres.admit.before_commit");
  const Inserted inserted = read_inserted(results[1]);
  const std::optional<HeldIdentities> held = read_holders(results[2]);
  if (!held) { return std::nullopt; }
  std::vector<Admission> answers;
  for (const NewExecution* item : items) {
    if (!item->identity) {
      const bool draining = !inserted.draining.empty() && inserted.draining.contains(work.queues.id(item->queue));
      answers.push_back(draining ? Admission{.verdict = AdmissionVerdict::queue_draining}
                                 : created(*item, 1, inserted));
      continue;
    }
    const NewExecution& winner = *items[first.at(item->identity->hash)];
    const bool won = inserted.took_identity.contains(winner.id);
    if (won && &winner == item) {
      answers.push_back(created(*item, 1, inserted));
    } else {
      // The request is a duplicate: of a request in this batch that was inserted, or of the holder that the statement
      // found.
      answers.push_back(answer_of(
          won ? as_holder(created(winner, 1, inserted), winner) : held->at(item->identity->hash).holder.value(), *item,
          inserted.now));
    }
  }
  return answers;
}

}  // namespace hapax::store::postgres
