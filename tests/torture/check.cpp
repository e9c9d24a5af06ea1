#include "torture/check.hpp"

#include "torture/log.hpp"
#include "torture/plan.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace hapax::torture {
namespace {

using store::Execution;

struct Facts {
  std::vector<Record> records;
  std::unordered_map<Uuid, Execution> executions;

  [[nodiscard]] const Execution* find(const Uuid& id) const {
    const auto at = executions.find(id);
    return at == executions.end() ? nullptr : &at->second;
  }
};

bool ends(const std::string& what) {
  return what == "completed" || what == "failed" || what == "cancelled" || what == "timed_out";
}

// Reads all executions in pages. An execution that is listed twice is a violation.
void read_executions(store::Store& store, Facts& facts, Findings& findings) {
  store::ListQuery query;
  query.limit = 1000;
  while (true) {
    auto page = store.list(query);
    if (page.empty()) break;
    query.after = page.back().id;
    for (auto& execution : page) {
      const Uuid id = execution.id;
      if (!facts.executions.emplace(id, std::move(execution)).second) findings.violation("two rows", id.to_string());
    }
  }
  findings.count("executions", static_cast<std::int64_t>(facts.executions.size()));
}

// Every acknowledged execution is in the store, and every duplicate request was answered with an execution that exists.
void check_acknowledged(const Facts& facts, Findings& findings) {
  for (const auto& record : facts.records) {
    if (record.event != Event::acknowledged && record.event != Event::duplicate) continue;
    findings.count(record.event == Event::acknowledged ? "acknowledged" : "answered with a holder");
    const Execution* const execution = facts.find(record.id());
    if (execution == nullptr) {
      findings.violation("acknowledged enqueue lost", record.id().to_string());
    } else if (record.event == Event::acknowledged && std::to_string(execution->run) != record.words.at(3)) {
      findings.violation("another run than acknowledged", record.id().to_string());
    }
  }
}

// Every execution has ended, in a way that its task allows.
void check_endings(const Facts& facts, Findings& findings) {
  for (const auto& [id, execution] : facts.executions) {
    if (!is_terminal(execution.status)) {
      findings.violation("not terminal", id.to_string() + " " + execution.task + " " +
                                             std::string(to_string(execution.status)) + " in " + execution.queue.name);
    } else if (const auto wrong = wrong_ending(execution)) {
      findings.violation("wrong ending", *wrong);
    }
    findings.count("ended as " + std::string(to_string(execution.status)));
    findings.count("lost leases", execution.lost);
  }
}

// A claim starts in one process only; the accepted outcome is the recorded one; no outcome is accepted twice or after
// the end.
void check_outcomes(const Facts& facts, Findings& findings) {
  std::set<std::pair<Uuid, std::int64_t>> starts;
  std::set<std::tuple<int, Uuid, std::int64_t>> started_by;
  std::map<std::pair<Uuid, std::int64_t>, std::string> accepted;
  std::map<Uuid, std::int64_t> ended_under;
  for (const auto& record : facts.records) {
    if (record.event == Event::started) {
      findings.count("handlers started");
      started_by.emplace(record.child, record.id(), record.fence());
      if (!starts.emplace(record.id(), record.fence()).second) {
        findings.violation("claim started twice", record.id().to_string() + " fence " + record.words[1]);
      }
    }
    if (record.event != Event::finished) continue;
    const std::string& what = record.words.at(2);
    if (record.words.at(3) != "accepted") {
      findings.count("stale outcomes refused");
      continue;
    }
    findings.count("accepted as " + what);
    const std::string name = record.id().to_string() + " " + what + " under fence " + record.words[1];
    const auto [before, fresh] = accepted.emplace(std::pair(record.id(), record.fence()), what);
    if (!fresh) findings.count("accepted again under the same fence");
    if (!fresh && before->second != what) findings.violation("second outcome", name + ", before: " + before->second);
    const Execution* const execution = facts.find(record.id());
    if (execution == nullptr) {
      findings.violation("accepted, but not there", name);
      continue;
    }
    if (ends(what)) {
      const auto [ended, first] = ended_under.emplace(record.id(), record.fence());
      if (!first && ended->second != record.fence()) {
        findings.violation("second outcome", name + ", before: fence " + std::to_string(ended->second));
      }
      if (execution->fence != record.fence() || to_string(execution->status) != what) {
        findings.violation("another outcome recorded", name +
                                                           ", recorded: " + std::string(to_string(execution->status)) +
                                                           " under fence " + std::to_string(execution->fence));
      } else if (what == "completed" && execution->result != record.words.at(4)) {
        findings.violation("another result recorded", name);
      }
    } else if (execution->fence < record.fence() ||
               (execution->fence == record.fence() && is_terminal(execution->status) &&
                execution->status != Status::cancelled && execution->status != Status::timed_out)) {
      findings.violation("accepted after the end", name);
    }
  }
  for (const auto& [id, execution] : facts.executions) {
    if (execution.status != Status::completed) continue;
    const std::string result = execution.result.value_or("");
    int child = 0;
    long long fence = 0;
    if (std::sscanf(result.c_str(), R"({"child":%d,"fence":%lld)", &child, &fence) != 2 || fence != execution.fence ||
        !started_by.contains({child, id, fence})) {
      findings.violation("result of nobody", id.to_string() + " " + result);
    }
  }
}

// Every outcome that a process read is the final one; an execution whose cancellation was acknowledged is cancelled.
void check_observed(const Facts& facts, Findings& findings) {
  for (const auto& record : facts.records) {
    if (record.event != Event::observed && record.event != Event::cancel) continue;
    const Execution* const execution = facts.find(record.id());
    const std::string status = execution == nullptr ? "nothing" : std::string(to_string(execution->status));
    if (record.event == Event::observed) {
      findings.count("outcomes observed");
      const bool same_result =
          execution != nullptr && (record.words.at(2) == "-" || execution->result == record.words[2]);
      if (status != record.words.at(1) || !same_result) {
        findings.violation("observed outcome changed",
                           record.id().to_string() + " " + record.words[1] + " → " + status);
      }
      continue;
    }
    const auto verdict = static_cast<store::CancelVerdict>(std::stoi(record.words.at(1)));
    findings.count("cancellations");
    if (verdict == store::CancelVerdict::not_found ||
        (verdict == store::CancelVerdict::cancelled && status != "cancelled") ||
        (verdict == store::CancelVerdict::finished && status != record.words.at(2))) {
      findings.violation("cancellation undone", record.id().to_string() + " is " + status);
    }
  }
}

// The runs of a key follow each other, and none follows a completed run.
void check_keys(const Facts& facts, Findings& findings) {
  std::map<std::string, std::map<int, std::vector<const Execution*>>> keys;
  for (const auto& [id, execution] : facts.executions) {
    if (execution.identity) keys[execution.identity_key][execution.run].push_back(&execution);
  }
  for (const auto& [key, runs] : keys) {
    int expected = 1;
    bool completed = false;
    for (const auto& [run, executions] : runs) {
      if (executions.size() != 1 || run != expected++) findings.violation("runs of a key", key);
      if (completed) findings.violation("a run after a completed one", key);
      completed = completed || executions.front()->status == Status::completed;
    }
    findings.count("keys");
    findings.count("runs under keys", static_cast<std::int64_t>(runs.size()));
  }
}

// A recorded sub-step has one value, and the result carries it.
void check_once(const Facts& facts, Findings& findings) {
  std::map<Uuid, std::string> values;
  for (const auto& record : facts.records) {
    if (record.event != Event::journaled) continue;
    findings.count("sub-steps recorded");
    const auto [at, fresh] = values.emplace(record.id(), record.words.at(2));
    if (!fresh) findings.violation("sub-step recorded twice", record.id().to_string());
    const Execution* const execution = facts.find(record.id());
    if (execution == nullptr || execution->status != Status::completed) continue;
    if (execution->result->find("\"value\":\"" + at->second + "\"") == std::string::npos) {
      findings.violation("sub-step's value lost", record.id().to_string() + " " + *execution->result);
    }
  }
}

// The caller's table has one row for each outcome or enqueue made in its transaction, and no other row.
void check_own_rows(const Facts& facts, OwnWrites& writes, Findings& findings) {
  const auto effects = writes.read("torture_effects");
  const auto outbox = writes.read("torture_outbox");
  findings.count("transactional outcomes", static_cast<std::int64_t>(effects.size()));
  findings.count("transactional enqueues", static_cast<std::int64_t>(outbox.size()));
  for (const auto& [id, fence] : effects) {
    const Execution* const execution = facts.find(id);
    if (execution == nullptr || execution->status != Status::completed || execution->fence != fence) {
      findings.violation("effect without its outcome", id.to_string() + " fence " + std::to_string(fence));
    }
  }
  for (const auto& [id, fence] : outbox) {
    if (facts.find(id) == nullptr) findings.violation("outbox row without its execution", id.to_string());
  }
  for (const auto& [id, execution] : facts.executions) {
    if (execution.task == "ledger" && execution.status == Status::completed && effects.count(id) != 1) {
      findings.violation("outcome without its effect", id.to_string() + ": " + std::to_string(effects.count(id)));
    }
    if (execution.task == "outbox" && outbox.count(id) != 1) {
      findings.violation("execution without its outbox row", id.to_string());
    }
  }
}

void count_notes(const Facts& facts, Findings& findings) {
  for (const auto& record : facts.records) {
    if (record.event == Event::poisoned) findings.count("handlers that killed their process");
    if (record.event != Event::note) continue;
    findings.count("note " + record.words.at(0));
    if (record.words[0] == "unexpected-admission") findings.violation("unexpected admission", record.words.at(1));
  }
}

std::int64_t number(store::Store& store, const std::string& statement) {
  return std::stoll(store.sql(statement, 1).rows.at(0).at(0).value());
}

}  // namespace

void check_while_running(store::Store& store, const std::string& schema_prefix, Findings& findings) {
  const std::string live = schema_prefix + "live";
  const std::string history = schema_prefix + "history";
  const auto two_holders = number(store, "SELECT count(*) FROM (SELECT identity FROM " + live +
                                             " WHERE identity IS NOT NULL GROUP BY identity HAVING count(*) > 1) t");
  const auto both = number(store, "SELECT count(*) FROM " + live + " l JOIN " + history + " h ON h.id = l.id");
  findings.count("looks while running");
  if (two_holders > 0) findings.violation("two live holders of a key", std::to_string(two_holders));
  if (both > 0) findings.violation("live and finished at once", std::to_string(both));
}

void check_at_the_end(const Evidence& evidence, Findings& findings) {
  Facts facts;
  facts.records = read_logs(evidence.folder);
  read_executions(evidence.store, facts, findings);
  const auto rows = number(evidence.store, "SELECT count(*) FROM " + evidence.schema_prefix + "history");
  if (rows != static_cast<std::int64_t>(facts.executions.size())) {
    findings.violation("two rows", std::to_string(rows) + " finished for " + std::to_string(facts.executions.size()));
  }
  check_acknowledged(facts, findings);
  check_endings(facts, findings);
  check_outcomes(facts, findings);
  check_observed(facts, findings);
  check_keys(facts, findings);
  check_once(facts, findings);
  check_own_rows(facts, evidence.writes, findings);
  count_notes(facts, findings);
  check_while_running(evidence.store, evidence.schema_prefix, findings);
  for (const auto& session : evidence.store.sessions()) findings.violation("session left", session.worker);
}

}  // namespace hapax::torture
