#include "model/explain.hpp"

#include "base/limits.hpp"
#include "model/activity_origin.hpp"
#include "model/rate.hpp"
#include "model/turn.hpp"

#include <algorithm>

namespace hapax::model {
namespace {

constexpr std::size_t waits_told = 8;  // waits of a workflow named in one sentence

std::string quoted(const std::string& name) { return "'" + name + "'"; }

// Whole seconds are enough for a sentence.
std::string about(Duration duration) {
  using std::chrono::seconds;
  return duration < seconds(1) ? "less than a second" : format_duration(std::chrono::floor<seconds>(duration));
}

std::string told(const std::optional<ErrorInfo>& error) {
  if (!error) { return "no error was recorded"; }
  return error->type.empty() ? error->message : error->type + ": " + error->message;
}

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (std::size_t i = 0; i < names.size() && i < waits_told; ++i) {
    all += (all.empty() ? "" : ", ") + quoted(names[i]);
  }
  return all + (names.size() > waits_told ? " and others" : "");
}

bool is_alive(const SessionInfo& session, Time now) { return session.expires_at > now; }

bool takes_queue(const SessionInfo& session, const QueueRef& queue) {
  return std::find(session.queues.begin(), session.queues.end(), queue) != session.queues.end();
}

// Whether the session may claim the execution. A session that names no tasks takes any task but no workflow; a worker
// that can run workflows names them.
bool takes(const SessionInfo& session, const Execution& execution) {
  if (session.tasks.empty()) { return execution.kind != Kind::workflow; }
  return std::find(session.tasks.begin(), session.tasks.end(), execution.task) != session.tasks.end();
}

class Explainer {
 public:
  explicit Explainer(const ExplainFacts& facts)
      : facts_(facts), e_(facts.execution), origin_(activity_origin(facts.execution)) {}

  std::vector<Reason> run() {
    switch (e_.status) {
      case Status::pending: pending(); break;
      case Status::running: running(); break;
      case Status::completed: completed(); break;
      case Status::failed: failed(); break;
      case Status::cancelled: add("cancelled", "It was cancelled: " + told(e_.error) + ".", retry_remedy()); break;
      case Status::timed_out:
        add("timed_out", "It was not done in time: " + told(e_.error) + ".", retry_remedy());
        break;
    }
    if (origin_) { started_by(); }
    if (e_.status == Status::completed || !is_terminal(e_.status)) { holds_key(); }
    return std::move(reasons_);
  }

 private:
  void add(std::string code, std::string sentence, std::string remedy = {}) {
    reasons_.push_back({std::move(code), std::move(sentence), std::move(remedy)});
  }

  [[nodiscard]] std::string retry_remedy() const {
    return e_.retried_as ? "" : "hapax retry " + e_.id.to_string() + " makes a new run of it.";
  }

  void pending() {
    if (e_.deadline && *e_.deadline <= facts_.now) {
      add("deadline_passed", "Its deadline has passed; the next sweep ends it as timed_out.",
          "Workers sweep every second; hapax cleanup does it now.");
      return;
    }
    if (!e_.stuck.empty()) {
      add("stuck",
          "The workflow's code and its journal do not agree: " + e_.stuck + ". It is tried again at " +
              format_time(e_.run_at) + ".",
          "Deploy code that fits its journal (ctx.patched keeps old runs going); hapax journal export shows the "
          "journal.");
      return;
    }
    if (journal_is_unreadable()) { return; }
    if (e_.waiting && e_.run_at > facts_.now) {
      waiting();
      return;
    }
    if (e_.run_at > facts_.now) {
      const std::string when = format_time(e_.run_at) + ", in " + about(e_.run_at - facts_.now);
      if (e_.attempt > 0 || e_.error) {
        add("retrying", "Attempt " + std::to_string(e_.attempt) + " of " + std::to_string(e_.max_attempts) +
                            " did not succeed (" + told(e_.error ? e_.error : facts_.last_error) +
                            "); it is tried again at " + when + ".");
      } else {
        add("delayed", "It is delayed until " + when + ".");
      }
    }
    if (facts_.queue && facts_.queue->settings.paused) {
      add("paused", "Its queue " + quoted(e_.queue.name) + " is paused.", "hapax queue resume " + e_.queue.name);
    }
    if (e_.parked) { behind_its_key(); }
    workers();
    if (reasons_.empty()) { limits(); }
    if (reasons_.empty()) { its_turn(); }
  }

  // Reports a journal that cannot be read, which is no fault of the workflow's code or of a payload.
  [[nodiscard]] bool journal_is_unreadable() {
    const auto& error = e_.error ? e_.error : facts_.last_error;
    const bool snoozed = error && error->type == "JournalUnreadable" && e_.run_at > facts_.now;
    if (facts_.journal_trouble.empty() && !snoozed) { return false; }
    std::string sentence = "The workflow's journal cannot be read: " +
                           (facts_.journal_trouble.empty() ? error->message : facts_.journal_trouble) + ".";
    if (snoozed) { sentence += " It is tried again at " + format_time(e_.run_at) + "."; }
    add("journal_unreadable", sentence,
        "Give its workers the key file that opens it, or restore the rows of its journal; other workflows go on.");
    return true;
  }

  void waiting() {
    const std::string until = format_time(e_.run_at) + ", in " + about(e_.run_at - facts_.now);
    if (!facts_.waits || facts_.waits->open.empty()) {
      add("waiting",
          e_.run_at >= never_due ? std::string("The workflow waits for what it started, or for a signal.")
                                 : "The workflow sleeps until " + until + ", or until something happens to it.",
          "hapax show tells what it waits for.");
    } else {
      waiting_for(facts_.waits->open);
    }
    if (!facts_.waits) { return; }
    if (!facts_.waits->not_taken.empty()) {
      add("signals_not_taken", "Signals came that nothing has asked for: " + joined(facts_.waits->not_taken) + ".",
          "They are kept until the workflow asks for them by that very name.");
    }
    if (facts_.waits->invalid) {
      add("invalid_payload", "A payload did not convert, and the workflow's code went on from that error: " +
                                 *facts_.waits->invalid + ".");
    }
  }

  void waiting_for(const std::vector<WorkflowWaits::Open>& open) {
    std::string all;
    std::string remedy;
    for (std::size_t i = 0; i < open.size() && i < waits_told; ++i) {
      all += (all.empty() ? "" : "; ") + described(open[i]);
      if (remedy.empty() && open[i].kind == JournalKind::signal) {
        remedy = "hapax signal " + e_.id.to_string() + " " + open[i].name + " --data JSON";
      } else if (remedy.empty() && open[i].child) {
        remedy = "hapax explain " + open[i].child->to_string() + " says why that has not ended.";
      }
    }
    if (open.size() > waits_told) { all += "; and " + std::to_string(open.size() - waits_told) + " more"; }
    add("waiting",
        open.size() == 1 ? "The workflow waits for " + all + "."
                         : "The workflow waits for one or more of these: " + all + ".",
        remedy);
  }

  [[nodiscard]] std::string described(const WorkflowWaits::Open& open) const {
    const std::string when =
        open.until ? format_time(*open.until) +
                         (*open.until > facts_.now ? ", in " + about(*open.until - facts_.now) : std::string())
                   : "";
    switch (open.kind) {
      case JournalKind::signal: return "signal " + quoted(open.name) + (when.empty() ? "" : ", until " + when);
      case JournalKind::timer: return "a timer that fires at " + when;
      case JournalKind::step_retry: return "the next attempt of step " + quoted(open.name) + " at " + when;
      default: break;
    }
    return (open.kind == JournalKind::child ? "workflow " : "task ") + quoted(open.name) +
           (open.child ? " (" + open.child->to_string() + ")" : "");
  }

  void behind_its_key() {
    if (!e_.limit_key) { return; }
    const std::string key = quoted(e_.limit_key->text);
    if (e_.limit_key->ordered && origin_ && e_.limit_key->text == "activity:" + origin_->activity) {
      add("earlier_run",
          "It waits for the earlier runs of activity " + quoted(origin_->activity) +
              ", whose runs may not overlap: they run one after the other.",
          "The run before it ends, or is cancelled: hapax activity runs " + origin_->activity +
              " --status pending,running");
      return;
    }
    if (its_rate_holds_it()) {
      const char* const kind = e_.limit_key->ordered ? "ordering" : "concurrency";
      add("key_rate_limit",
          "In its queue " + quoted(e_.queue.name) + ", at most " +
              format_rate_limit(*facts_.queue->settings.limits.key_rate) + " start of one key, and those of " + kind +
              " key " + key + " that have started use that up.",
          "It starts by itself; hapax queue set " + e_.queue.name + " --key-rate-limit R allows more.");
      return;
    }
    if (e_.limit_key->ordered) {
      add("ordering_key",
          "It waits for those with ordering key " + key +
              " that were admitted before it: they run one after the other, and one that is delayed or retrying holds "
              "up "
              "the rest.",
          "The first of them ends, or is cancelled: hapax list --queue " + e_.queue.name + " --status pending");
      return;
    }
    std::string sentence = "It waits for others with concurrency key " + key;
    if (facts_.queue) {
      const QueueLimits& limits = facts_.queue->settings.limits;
      sentence += ": at most " + std::to_string(limits.key_concurrency.value_or(1)) + " of a key run at once";
      if (limits.key_rate) { sentence += ", at most " + format_rate_limit(*limits.key_rate) + " start"; }
    }
    const bool has_rate = facts_.queue && facts_.queue->settings.limits.key_rate && !facts_.others_of_key;
    add("concurrency_key", sentence + ".",
        "hapax queue set " + e_.queue.name + " --key-concurrency N" + (has_rate ? " or --key-rate-limit R" : ""));
  }

  // Whether no other execution of the key blocks this one, so that only the key's rate limit can.
  [[nodiscard]] bool its_rate_holds_it() const {
    if (!facts_.queue || !facts_.queue->settings.limits.key_rate || !facts_.others_of_key) { return false; }
    if (e_.limit_key->ordered) { return !facts_.others_of_key->earlier; }
    return facts_.others_of_key->running < facts_.queue->settings.limits.key_concurrency.value_or(1);
  }

  // Reports queue-wide limits that are reached.
  void limits() {
    if (!facts_.queue) { return; }
    const QueueLimits& limits = facts_.queue->settings.limits;
    if (limits.concurrency && facts_.queue->running >= *limits.concurrency) {
      add("concurrency",
          "Its queue " + quoted(e_.queue.name) + " runs at most " + std::to_string(*limits.concurrency) +
              " at once, and " + std::to_string(facts_.queue->running) + " are running.",
          "hapax queue set " + e_.queue.name + " --concurrency N");
    }
    if (limits.worker_concurrency && workers_are_full(*limits.worker_concurrency)) {
      add("worker_concurrency",
          "One worker runs at most " + std::to_string(*limits.worker_concurrency) + " of queue " +
              quoted(e_.queue.name) + " at once, and each that takes it does.",
          "One more worker, or hapax queue set " + e_.queue.name + " --worker-concurrency N");
    }
    if (limits.rate) { rate(*limits.rate); }
  }

  [[nodiscard]] bool workers_are_full(int limit) const {
    return std::all_of(facts_.sessions.begin(), facts_.sessions.end(), [&](const SessionInfo& session) {
      if (!is_alive(session, facts_.now) || !takes_queue(session, e_.queue) || !takes(session, e_)) { return true; }
      const auto running = facts_.running_here.find(session.id);
      return running != facts_.running_here.end() && running->second >= limit;
    });
  }

  // Reports the rate limit if it would delay the execution after all others that are due. How many of the others come
  // first is not known.
  void rate(const RateLimit& limit) {
    RateMeter meter(limit, facts_.queue->rate_arrival, facts_.now);
    const std::int64_t others = std::clamp<std::int64_t>(facts_.queue->ready - 1, 0, limits::rate);
    if (others > 0) { meter.start(static_cast<int>(others)); }
    if (meter.wait(e_.weight) <= Duration{0}) { return; }
    add("rate_limit",
        "Its queue " + quoted(e_.queue.name) + " starts at most " + format_rate_limit(limit) + "; " +
            std::to_string(facts_.queue->ready) + " are due in it, the last of them starts in " +
            about(meter.wait(e_.weight)) + " at the earliest.",
        "hapax queue set " + e_.queue.name + " --rate-limit R");
  }

  void workers() {
    std::int64_t on_queue = 0;
    std::int64_t on_task = 0;
    std::int64_t idle = 0;
    for (const SessionInfo& session : facts_.sessions) {
      if (!is_alive(session, facts_.now) || !takes_queue(session, e_.queue)) { continue; }
      ++on_queue;
      if (takes(session, e_)) {
        ++on_task;
        idle += session.running == 0 ? 1 : 0;
      }
    }
    if (on_queue == 0) {
      // `hapax work --exec` runs tasks only, not workflows.
      add("no_worker", "No worker is running for queue " + quoted(e_.queue.name) + ".",
          e_.kind == Kind::workflow ? "Start a program whose worker has queue " + quoted(e_.queue.name) +
                                          " and a handler for workflow " + quoted(e_.task) + "."
                                    : "Start one: hapax work --queue " + e_.queue.name + " --exec PROGRAM");
    } else if (on_task == 0) {
      add("no_worker_for_task",
          "The " + counted(on_queue, "worker") + " on queue " + quoted(e_.queue.name) + " do not take " +
              (e_.kind == Kind::workflow ? "workflow " : "task ") + quoted(e_.task) + ".",
          "Start a worker that has a handler for " + quoted(e_.task) + ".");
    } else if (e_.lost > 0 && idle == 0 && e_.run_at <= facts_.now) {
      add("lost_before",
          "Its worker was lost " + counted(e_.lost, "time") +
              " while it ran, so it runs alone: it waits for "
              "a worker that holds nothing else.",
          "It runs by itself once a worker is idle; one more worker on the queue speeds that up.");
    }
  }

  void its_turn() {
    std::string sentence = "It is due and waits for its turn in queue " + quoted(e_.queue.name);
    if (facts_.queue) {
      sentence += ": " + std::to_string(facts_.queue->ready) + " ready, " + std::to_string(facts_.queue->running) +
                  " running, priority " + std::to_string(e_.priority);
    }
    add("waiting_its_turn", sentence + ".", "More workers, or more concurrency, shorten the wait.");
  }

  void running() {
    const auto session = std::find_if(facts_.sessions.begin(), facts_.sessions.end(),
                                      [this](const SessionInfo& s) { return e_.session == s.id; });
    const std::string worker = e_.worker.empty() ? "a worker" : "worker " + quoted(e_.worker);
    if (e_.cancel_requested) {
      add("cancelling",
          "Its cancellation was asked for; " + worker + " has been told and the handler has not ended yet.");
    }
    const bool lost = session == facts_.sessions.end() || !is_alive(*session, facts_.now);
    if (lost && e_.kind == Kind::guard) {
      add("caller_lost",
          "It is a guarded call, and its caller's lease is over: " +
              std::string(e_.attempt_timeout ? "the next call with its key takes it over."
                                             : "it is never taken over, and holds its key."),
          e_.attempt_timeout ? "" : "hapax guard forget, when it is known whether it took effect.");
      return;
    }
    if (lost) {
      add("session_lost",
          "It was running on " + worker + ", whose lease is over: it will be claimable again at the next sweep.",
          "Any live worker sweeps every second; hapax cleanup does it now.");
      return;
    }
    std::string sentence = "It is running on " + worker + ", attempt " + std::to_string(e_.attempt) + " of " +
                           std::to_string(e_.max_attempts);
    if (e_.started_at) { sentence += ", for " + about(facts_.now - *e_.started_at); }
    add("running", sentence + ".");
  }

  void completed() {
    std::string sentence = "It completed";
    if (e_.finished_at) { sentence += " at " + format_time(*e_.finished_at); }
    add("completed", sentence + ", in attempt " + std::to_string(e_.attempt) + ".");
  }

  void failed() {
    add("failed", "It failed after " + counted(e_.attempt, "attempt") + ": " + told(e_.error) + ".");
    if (e_.kind == Kind::workflow && e_.error &&
        (e_.error->type == "InvalidSignal" || e_.error->type == "InvalidResult")) {
      add("invalid_payload",
          "What it was sent has another shape than its code expects: neither its code nor its journal has changed.",
          "Mend the sender, or catch " + e_.error->type + " where the workflow takes the value.");
    }
    if (e_.retried_as) {
      add("retried", "It was retried as " + e_.retried_as->to_string() + ".");
    } else if (e_.dead) {
      add("dead_letter", "It stands in the dead-letter list of queue " + quoted(e_.queue.name) + ".",
          "hapax dlq retry " + e_.id.to_string() + ", or hapax dlq discard " + e_.id.to_string());
    } else {
      reasons_.front().remedy = retry_remedy();
    }
  }

  void started_by() {
    add("started_by_activity",
        "Activity " + quoted(origin_->activity) + " started it, as " +
            (origin_->is_instance ? "a task instance of run " : "run ") + origin_->run_id + ".",
        "hapax activity show " + origin_->activity + " tells when it runs next.");
  }

  // Reports why another request was, or would be, deduplicated to this execution.
  void holds_key() {
    if (!e_.identity) { return; }
    if (!facts_.holding) {
      add("key_free",
          "It does not hold " + what_it_holds() + " any more: the same request gets an execution of its own.",
          e_.status == Status::completed
              ? "A window holds it for longer: hapax queue set " + e_.queue.name + " --dedup-window 1d"
              : "");
      return;
    }
    if (facts_.holding->holder.id != e_.id) {
      add("superseded", "Another execution holds its identity now: " + facts_.holding->holder.id.to_string() + ".");
      return;
    }
    std::string sentence = "It holds " + what_it_holds() +
                           (origin_ ? ", so its activity does not start it again"
                                    : ", so the same request gets this execution instead of a new one");
    const std::optional<Time>& until = facts_.holding->until;
    sentence += until ? ", until " + format_time(*until) + "." : ", for as long as it is kept.";
    add("holds_key", sentence);
  }

  [[nodiscard]] std::string what_it_holds() const {
    if (!e_.identity_key.empty()) { return "the key " + quoted(e_.identity_key); }
    if (!facts_.task) { return "its identity"; }
    if (facts_.task->strategy.value_or(facts_.usual) != IdentityStrategy::contextual) {
      return "the identity of its whole input (task " + quoted(e_.task) + " is strict)";
    }
    std::string fields;
    for (const std::string& pointer : facts_.task->identity_keys) { fields += (fields.empty() ? "" : ", ") + pointer; }
    return "the identity of its input's " + fields + " (task " + quoted(e_.task) + " is contextual)";
  }

  const ExplainFacts& facts_;
  const Execution& e_;
  const std::optional<RunName> origin_;
  std::vector<Reason> reasons_;
};

}  // namespace

std::vector<Reason> explain(const ExplainFacts& facts) { return Explainer(facts).run(); }

}  // namespace hapax::model
