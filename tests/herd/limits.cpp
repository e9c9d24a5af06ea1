#include "herd/scenes.hpp"

#include "herd/timeline.hpp"

#include "torture/faults.hpp"
#include "torture/plan.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <map>
#include <thread>

namespace hapax::herd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using torture::below;
using torture::Event;

constexpr Duration patience = seconds(60);
// A claim whose answer was lost counts as committed this long after its claimed_at.
constexpr Duration claim_takes = milliseconds(100);

std::int64_t micros(const Time& time) { return time.time_since_epoch().count(); }

store::QueueRef queue_named(const std::string& name) { return {.namespace_name = "default", .name = name}; }

// ---- Rate limits -------------------------------------------------------------------------------------------------

// Four worker processes on queues with more work than the rates allow.
class RatePlay {
 public:
  RatePlay(Stage& stage, Duration how_long, const std::string& name)
      : stage_(stage),
        how_long_(how_long),
        scene_(stage, name, {{"tasks", {"limited"}}, {"tell_claims", true}, {"threads", 4}}) {}

  // Returns the rates that were not reached, as text.
  std::string run() {
    for (const auto& [queue, limit] : limits_) prepare(queue, limit);
    for (int index = 0; index < 4; ++index) scene_.children().start({.role = "worker", .queues = {"burst", "steady"}});
    (void)scene_.wait_until(patience, [&] { return noted_working() == 4; });
    for (const auto& [queue, limit] : limits_) stage_.store().configure_queue(queue_named(queue), {.paused = false});
    (void)scene_.wait_until(patience, [&] {
      return std::ranges::all_of(limits_, [&](const auto& one) { return !starts(one.first).empty(); });
    });
    (void)scene_.wait_until(how_long_ + milliseconds(300), [] { return false; });
    scene_.end("worker");
    std::string missed;
    for (const auto& [queue, limit] : limits_) missed += check(queue, limit);
    return missed;
  }

 private:
  void prepare(const std::string& queue, const RateLimit& limit) {
    stage_.store().configure_queue(queue_named(queue), {.paused = true, .rate = limit});
    std::vector<store::NewExecution> items;
    const auto enough = (limit.count * (how_long_ / seconds(1) + 8)) + limit.burst;
    for (std::int64_t left = enough; left > 0; --left) items.push_back(torture::request("limited", queue));
    for (const auto& admission : stage_.store().admit(items)) {
      if (!admission.created()) scene_.violation("an execution was not created");
    }
  }

  [[nodiscard]] int noted_working() const {
    const auto records = scene_.records();
    return static_cast<int>(std::ranges::count(records, Event::note, &torture::Record::event));
  }

  // The claims' start times, by the store's clock.
  [[nodiscard]] std::vector<std::int64_t> starts(const std::string& queue) const {
    std::vector<std::int64_t> instants;
    for (const auto& record : scene_.records()) {
      if (record.event == Event::started && record.words.at(2) == queue)
        instants.push_back(std::stoll(record.words.at(3)));
    }
    std::ranges::sort(instants);
    return instants;
  }

  std::string check(const std::string& queue, const RateLimit& limit) {
    const auto instants = starts(queue);
    if (instants.empty() || instants.front() == 0) {
      scene_.violation(queue + ": the instant of a claim is not known");
      return {};
    }
    for (const Duration length : {Duration(seconds(1)), Duration(seconds(10))}) {
      const auto most = most_in_any(instants, length.count());
      const auto allowed = static_cast<std::size_t>(limit.count * (length / limit.per) + limit.burst);
      stage_.findings().count(queue + ": most starts in " + format_duration(length), static_cast<std::int64_t>(most));
      if (most > allowed) {
        scene_.violation(queue + ": " + std::to_string(most) + " starts in " + format_duration(length) + ", allowed " +
                         std::to_string(allowed));
      }
    }
    const auto reached =
        std::ranges::count_if(instants, [&](std::int64_t at) { return at < instants.front() + how_long_.count(); });
    const auto full = limit.count * (how_long_ / seconds(1));
    stage_.findings().count(queue + ": % of the limit reached", reached * 100 / full);
    if (reached * 100 >= full * 95) return {};
    return queue + ": " + std::to_string(reached) + " starts of " + std::to_string(full) + " in " +
           format_duration(how_long_) + "; ";
  }

  Stage& stage_;
  Duration how_long_;
  Scene scene_;
  std::map<std::string, RateLimit> limits_{{"burst", {.count = 50, .per = seconds(1), .burst = 10}},
                                           {"steady", {.count = 20, .per = seconds(1), .burst = 0}}};
};

// ---- Limit keys and ordering keys --------------------------------------------------------------------------------

// Eight claimers, killed and stopped at random, on queues whose keys may run one at a time, two at a time, or in strict
// order.
class KeyPlay {
 public:
  KeyPlay(Stage& stage, Duration how_long)
      : stage_(stage), how_long_(how_long), scene_(stage, "keys", {{"keys", 6}, {"pace_ms", 25}}) {}

  void run() {
    stage_.store().configure_queue(queue_named("pairs"), {.key_concurrency = 2});
    hurt();
    scene_.end("feeder");
    const bool done = scene_.wait_until(patience, [&] {
      keep_up(false);
      return idle();
    });
    if (!done) scene_.violation("stranded: " + stranded());
    scene_.end("claimer");
    check();
  }

 private:
  void keep_up(bool hurting) {
    while (scene_.children().count("claimer") < 8) {
      std::string fault;
      if (hurting && torture::one_in(stage_.random(), 3)) {
        fault = torture::random_fault(stage_.random(), stage_.options().store, "worker");
      }
      scene_.children().start({.role = "claimer", .fault = fault, .queues = queues_});
    }
    while (hurting && scene_.children().count("feeder") < 2) {
      scene_.children().start({.role = "feeder", .queues = queues_});
    }
  }

  void hurt() {
    const auto until = torture::Ticks::now() + how_long_;
    auto next = torture::Ticks::now() + milliseconds(600);
    (void)scene_.wait_until(how_long_ + patience, [&] {
      keep_up(true);
      if (torture::Ticks::now() >= next) {
        hurt_somebody();
        next = torture::Ticks::now() + milliseconds(60 + below(stage_.random(), 240));
      }
      return torture::Ticks::now() >= until;
    });
    scene_.children().resume_due(true);
  }

  void hurt_somebody() {
    auto& living = scene_.children().living();
    auto& child = living[static_cast<std::size_t>(below(stage_.random(), static_cast<int>(living.size())))];
    if (child.stopped) return;
    if (child.role == "claimer" && below(stage_.random(), 10) < 6) {
      // Often longer than the lease of 1 s, so that the process continues with claims that it has lost.
      scene_.children().stop(child, milliseconds(200 + below(stage_.random(), 2300)));
      stage_.findings().count("stopped");
    } else {
      scene_.children().kill(child);
      stage_.findings().count("killed");
    }
  }

  bool idle() {
    for (const auto& info : stage_.store().queues("default")) {
      const bool ours = std::ranges::find(queues_, info.queue.name) != queues_.end();
      if (ours && info.ready + info.delayed + info.parked + info.running > 0) return false;
    }
    return true;
  }

  std::string stranded() {
    std::string text;
    for (const auto& info : stage_.store().queues("default")) {
      text += info.queue.name + " ready " + std::to_string(info.ready) + " delayed " + std::to_string(info.delayed) +
              " parked " + std::to_string(info.parked) + " running " + std::to_string(info.running) + "; ";
    }
    return text;
  }

  // An attempt as the processes saw it; times are of the machine's clock.
  struct SeenAttempt {
    std::int64_t claimed_at = 0;           // from the store's claim reply
    std::optional<std::int64_t> answered;  // the claim had been answered by then
    std::optional<std::int64_t> offered;   // the outcome had not been sent yet
    bool accepted = false;
  };
  struct Seen {
    std::map<std::pair<Uuid, int>, SeenAttempt> attempts;
    std::map<Uuid, std::pair<std::int64_t, std::int64_t>> fed;  // times of request and acknowledgement
  };

  Seen read() {
    Seen seen;
    const auto attempt = [&](const torture::Record& record) -> SeenAttempt& {
      return seen.attempts[{record.id(), std::stoi(record.words.at(2))}];
    };
    for (const auto& record : scene_.records()) {
      if (record.event == Event::started) {
        attempt(record).claimed_at = std::stoll(record.words.at(3));
        attempt(record).answered = std::stoll(record.words.at(4));
      } else if (record.event == Event::offered) {
        attempt(record).offered = std::stoll(record.words.at(3));
      } else if (record.event == Event::finished) {
        const bool accepted = record.words.at(3) == "accepted";
        stage_.findings().count(accepted ? "outcomes accepted" : "zombies refused");
        attempt(record).accepted = attempt(record).accepted || accepted;
      } else if (record.words.at(0) == "fed") {
        seen.fed[Uuid::parse(record.words.at(1)).value()] = {std::stoll(record.words.at(2)),
                                                             std::stoll(record.words.at(3))};
      }
    }
    return seen;
  }

  void check() {
    const Seen seen = read();
    std::size_t fed = 0;
    for (const auto& queue : queues_) {
      std::map<std::string, std::vector<Interval>> claims;
      std::map<std::string, std::vector<Turn>> turns;
      for (const auto& one : executions_in(queue)) {
        const std::string key = one.limit_key ? one.limit_key->text : "";
        if (!is_terminal(one.status)) scene_.violation("not done: " + one.id.to_string());
        const auto attempts = intervals_of(one, seen);
        claims[key].insert(claims[key].end(), attempts.begin(), attempts.end());
        const auto known = seen.fed.find(one.id);
        if (known == seen.fed.end()) continue;
        ++fed;
        if (attempts.empty()) continue;
        turns[key].push_back(
            {.asked = known->second.first,
             .acknowledged = known->second.second,
             .ran = {.from = attempts.front().from, .to = attempts.back().to, .what = one.id.to_string()}});
      }
      check_queue(queue, claims, turns);
    }
    if (fed != seen.fed.size()) {
      scene_.violation(std::to_string(seen.fed.size() - fed) + " acknowledged executions are gone");
    }
    stage_.findings().count("executions with keys", static_cast<std::int64_t>(fed));
  }

  void check_queue(const std::string& queue, const std::map<std::string, std::vector<Interval>>& claims,
                   const std::map<std::string, std::vector<Turn>>& turns) {
    const int limit = queue == "pairs" ? 2 : 1;
    for (const auto& [key, intervals] : claims) {
      const int most = most_at_once(intervals);
      if (most > limit)
        scene_.violation(queue + " " + key + ": " + std::to_string(most) + " unexpired claims at once, " +
                         worst_overlap(intervals));
      if (queue == "pairs" && most == 2) stage_.findings().count("keys that ran two at once");
    }
    if (queue != "ordered") return;
    for (const auto& [key, list] : turns) {
      if (const int wrong = out_of_order(list); wrong > 0) {
        scene_.violation("ordered " + key + ": " + std::to_string(wrong) + " of " + std::to_string(list.size()) +
                         " ran out of order");
      }
      std::vector<Interval> whole;
      for (const auto& turn : list) whole.push_back(turn.ran);
      if (most_at_once(whole) > 1)
        scene_.violation("ordered " + key + ": one began before the one before it ended, " + worst_overlap(whole));
    }
  }

  // The interval of each attempt, from when its claim had surely happened until its outcome had not been sent or its
  // lease was found expired. The interval lies within the real claim, so intervals that overlap prove a violation.
  std::vector<Interval> intervals_of(const store::Execution& one, const Seen& seen) {
    std::vector<Interval> intervals;
    for (const auto& attempt : stage_.store().attempts(one.id)) {
      const auto found = seen.attempts.find({one.id, attempt.number});
      const SeenAttempt known = found == seen.attempts.end() ? SeenAttempt{} : found->second;
      const bool lost = attempt.outcome == "lost";
      if (lost) stage_.findings().count("attempts lost");
      if (lost && known.accepted) scene_.violation("a zombie was believed: " + one.id.to_string());
      if (!attempt.ended_at) continue;
      if (known.answered && micros(*attempt.ended_at) < known.claimed_at) {
        scene_.violation("an attempt ended before its claim");
      }
      Interval interval{.from = 0, .to = micros(*attempt.ended_at), .what = {}};
      if (!lost && known.offered) interval.to = *known.offered;
      if (known.answered) {
        interval.from = *known.answered;
      } else if (attempt.started_at) {
        interval.from = micros(*attempt.started_at + claim_takes);
      } else {
        continue;
      }
      // A process that was stopped before it logged its claim logs it late; the claim happened before the attempt
      // ended.
      interval.from = std::min(interval.from, interval.to);
      interval.what = one.id.to_string() + " attempt " + std::to_string(attempt.number) + " (" + attempt.outcome + ")";
      intervals.push_back(std::move(interval));
    }
    return intervals;
  }

  std::vector<store::Execution> executions_in(const std::string& queue) {
    std::vector<store::Execution> all;
    store::ListQuery query;
    query.queue = queue;
    query.payloads = false;
    query.limit = 1000;
    for (auto page = stage_.store().list(query); !page.empty(); page = stage_.store().list(query)) {
      query.after = page.back().id;
      all.insert(all.end(), page.begin(), page.end());
    }
    return all;
  }

  Stage& stage_;
  Duration how_long_;
  Scene scene_;
  std::vector<std::string> queues_{"single", "pairs", "ordered"};
};

}  // namespace

void limits(Stage& stage, Duration how_long) {
  // A busy machine may miss a rate once. Only three misses in a row are a violation.
  std::string missed;
  for (const std::string name : {"rate", "rate-again", "rate-at-last"}) {
    missed = RatePlay(stage, how_long, name).run();
    if (missed.empty()) break;
  }
  if (!missed.empty()) stage.findings().violation("rate", missed);
  KeyPlay(stage, how_long).run();
}

}  // namespace hapax::herd
