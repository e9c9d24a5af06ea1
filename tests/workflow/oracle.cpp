#include "workflow/oracle.hpp"

#include <algorithm>
#include <set>

namespace hapax::generated {

namespace {

struct Expectation {
  std::uint32_t acc = 0;
  int least = 1;
  int most = 1;
  std::vector<EffectKey> after;
};

using Frontier = std::set<EffectKey>;  // the last effects on all paths that lead to an operation

// How an operation ends other than normally.
struct Failed {};
struct Struck {};  // a cancellation
struct Hangs {
  int op = 0;
};
struct GoesOn {
  const Op* next = nullptr;
};

struct RunEnd {
  Status status = Status::completed;
  std::uint32_t acc = 0;
  Frontier frontier;
};

class Oracle {
 public:
  Oracle(const Program& program, const Observed& observed) : program_(program), observed_(observed) {}

  std::vector<std::string> check(const std::string& chain) {
    (void)run_chain(program_.root, {.chain = chain, .acc = 1, .frontier = {}, .certain = !observed_.cancel_asked});
    compare();
    return std::move(problems_);
  }

 private:
  struct Chain {
    std::string chain;
    std::uint32_t acc = 0;
    Frontier frontier;
    bool certain = true;  // the chain must have run, and nobody may have cancelled it
  };

  struct State {
    std::string actor;
    std::uint32_t acc = 0;
    Frontier frontier;
    std::optional<Strike> strike;
    const ObservedRun* run = nullptr;
    std::size_t* early = nullptr;
  };

  void problem(std::string text) { problems_.push_back(std::move(text)); }

  // Checks all runs of a root or a child. Returns nothing if none began.
  std::optional<RunEnd> run_chain(const Op& op, const Chain& chain) {
    const Op* body = &op;
    std::uint32_t acc = chain.acc;
    Frontier frontier = chain.frontier;
    std::size_t early = 0;
    for (int generation = 0;; ++generation) {
      const std::string actor = chain.chain + "#" + std::to_string(generation);
      const auto found = observed_.runs.find(actor);
      if (found == observed_.runs.end()) {
        if (chain.certain) { problem(actor + " never began"); }
        return std::nullopt;
      }
      const ObservedRun& run = found->second;
      seen_runs_.insert(actor);
      if (chain.certain && run.log.strike) { problem(actor + " was cancelled, and nobody asked for it"); }
      State state{.actor = actor,
                  .acc = acc,
                  .frontier = std::move(frontier),
                  .strike = run.log.strike,
                  .run = &run,
                  .early = &early};
      const Op* next = nullptr;
      RunEnd end;
      try {
        block(body->body, state);
      } catch (const Failed&) { end.status = Status::failed; } catch (const Struck&) {
        end.status = Status::cancelled;
      } catch (const Hangs& where) {
        problem(actor + " should hang at operation " + std::to_string(where.op) + " and " +
                (run.status ? "ended as " + std::string(to_string(*run.status)) : "was not cancelled"));
        return std::nullopt;
      } catch (const GoesOn& on) { next = on.next; }
      check_end(run, state, end.status, next != nullptr);
      if (&op == &program_.root) { check_idle(run, state.actor); }
      if (next == nullptr) {
        end.acc = state.acc;
        end.frontier = std::move(state.frontier);
        return end;
      }
      body = next;
      acc = state.acc;
      frontier = std::move(state.frontier);
    }
  }

  void check_end(const ObservedRun& run, const State& state, Status status, bool continued) {
    if (run.continued != continued) {
      problem(state.actor + (continued ? " did not continue as new" : " continued as new"));
    }
    if (run.status != status) {
      problem(state.actor + " ended as " + (run.status ? std::string(to_string(*run.status)) : "nothing yet") +
              ", expected " + std::string(to_string(status)));
    } else if (status == Status::completed && !continued && run.result != state.acc) {
      problem(state.actor + " has the result " + (run.result ? std::to_string(*run.result) : "none") + ", expected " +
              std::to_string(state.acc));
    }
    if (run.log.strike && !struck_.contains(state.actor)) {
      problem(state.actor + " was struck at operation " + std::to_string(run.log.strike->op) +
              ", where it should never have been");
    }
  }

  // If the test cancelled the root because nothing else could happen, the root must have been at a hang operation.
  void check_idle(const ObservedRun& run, const std::string& actor) {
    if (!observed_.cancelled_when_idle || !run.log.strike) { return; }
    if (program_.at(run.log.strike->op).kind != Kind::hang) {
      problem(actor + " came to a stop at operation " + std::to_string(run.log.strike->op));
    }
  }

  void block(const std::vector<Op>& ops, State& state) {
    for (const Op& op : ops) { exec(op, state); }
  }

  // Whether the cancellation strikes at this stage of the operation.
  bool strikes(const Op& op, int stage, State& state) {
    if (state.strike != Strike{.op = op.id, .stage = stage}) { return false; }
    state.strike.reset();
    struck_.insert(state.actor);
    return true;
  }

  void exec(const Op& op, State& state) {
    if (strikes(op, 0, state)) {
      maybe(op, state);
      throw Struck{};
    }
    switch (op.kind) {
      case Kind::step: return step(op, state);
      case Kind::task: return task(op, state);
      case Kind::sleep: return;
      case Kind::signal: return signal(op, state);
      case Kind::child: return child(op, state);
      case Kind::fan: return fan(op, state);
      case Kind::timers: return timers(op, state);
      case Kind::race: return race(op, state);
      case Kind::attempt: return attempt(op, state);
      case Kind::saga: return saga(op, state);
      case Kind::patch: return patch(op, state);
      case Kind::stamp:
      case Kind::attribute: return;
      case Kind::hang: throw Hangs{op.id};
      case Kind::fail: throw Failed{};
      case Kind::go_on: throw GoesOn{&op};
    }
  }

  static int calls_of(const Op& op) {
    switch (op.mode) {
      case Mode::ok:
      case Mode::permanent: return 1;
      case Mode::flaky: return op.count + 1;
      case Mode::failing: return op.count;
    }
    return 1;
  }
  static bool fails(const Op& op) { return op.mode == Mode::failing || op.mode == Mode::permanent; }

  void expect(const EffectKey& key, const Op& op, const State& state, bool certain) {
    // A task attempt that is lost with its worker is spent, whether the task's body was called or not.
    const bool spends = op.kind == Kind::task && op.mode == Mode::failing;
    Expectation made{.acc = state.acc,
                     .least = !certain ? 0
                              : spends ? 1
                                       : calls_of(op),
                     .most = calls_of(op),
                     .after = {state.frontier.begin(), state.frontier.end()}};
    // A lost call may count as one of a flaky operation's failures, so that the operation needs no further one.
    if (const auto lost = observed_.lost.find(key); lost != observed_.lost.end()) { made.most += lost->second; }
    if (!expected_.emplace(key, std::move(made)).second) {
      problem("the oracle expects operation " + std::to_string(key.op) + " of " + key.actor + " twice");
    }
  }

  void step(const Op& op, State& state) {
    const EffectKey key{state.actor, op.id};
    expect(key, op, state, true);
    state.frontier = {key};
    if (fails(op)) { throw Failed{}; }
    state.acc = mix(state.acc, static_cast<std::uint32_t>(op.id));
  }

  static std::string below(const Op& op, const State& state) { return state.actor + "/" + std::to_string(op.id); }

  static void join(Frontier& frontier, const Frontier& other) { frontier.insert(other.begin(), other.end()); }

  // A task that is started in this state. Returns its result, or nothing if it fails.
  std::optional<std::uint32_t> sent(const Op& op, const State& state, Frontier& frontier, bool certain = true) {
    const EffectKey key{below(op, state), op.id};
    expect(key, op, state, certain);
    frontier.insert(key);
    if (fails(op)) { return std::nullopt; }
    return mix(state.acc, static_cast<std::uint32_t>(op.id));
  }

  // A child that is started in this state. Returns its result, or nothing if it fails or is not certain to run.
  std::optional<std::uint32_t> born(const Op& op, const State& state, Frontier& frontier, bool certain = true) {
    const auto end =
        run_chain(op, {.chain = below(op, state), .acc = state.acc, .frontier = state.frontier, .certain = certain});
    if (!end || !certain) { return std::nullopt; }
    join(frontier, end->frontier);
    return end->status == Status::completed ? std::optional(end->acc) : std::nullopt;
  }

  std::optional<std::uint32_t> started(const Op& op, const State& state, Frontier& frontier, bool certain = true) {
    if (op.kind == Kind::task) { return sent(op, state, frontier, certain); }
    if (op.kind == Kind::child) { return born(op, state, frontier, certain); }
    return payload_of(op.id);
  }

  void take(std::optional<std::uint32_t> value, State& state) {
    if (!value) { throw Failed{}; }
    state.acc = mix(state.acc, *value);
  }

  void task(const Op& op, State& state) {
    Frontier frontier;
    const auto value = sent(op, state, frontier);
    state.frontier = std::move(frontier);
    take(value, state);
  }

  void signal(const Op& op, State& state) {
    switch (op.way) {
      case Way::early: state.acc = mix(state.acc, early_payload((*state.early)++)); break;
      case Way::impatient: state.acc = mix(state.acc, 7); break;
      default: state.acc = mix(state.acc, payload_of(op.id));
    }
  }

  void child(const Op& op, State& state) {
    Frontier frontier = state.frontier;
    if (op.way == Way::loose) {
      (void)born(op, state, frontier, false);
    } else if (op.way == Way::abandoned) {
      (void)born(op, state, frontier);
    } else {
      const auto value = born(op, state, frontier);
      state.frontier = std::move(frontier);
      take(value, state);
    }
  }

  void fan(const Op& op, State& state) {
    const State begun = state;
    Frontier frontier;
    std::vector<std::optional<std::uint32_t>> values;
    const auto all_started = [&](bool waited_for) {
      for (const Op& part : op.parts) {
        // Parts that the run never waits for: a task runs anyway, a child may end with its parent.
        const bool certain = waited_for || part.kind == Kind::task;
        if (part.kind != Kind::sleep) { values.push_back(started(part, begun, frontier, certain)); }
      }
    };
    try {
      block(op.body, state);
    } catch (...) {
      all_started(false);
      throw;
    }
    if (strikes(op, 1, state)) {
      all_started(false);
      throw Struck{};
    }
    all_started(true);
    join(state.frontier, frontier);
    for (const auto& value : values) {
      if (!value) { throw Failed{}; }
    }
    for (const auto& value : values) { take(value, state); }
  }

  void timers(const Op& op, State& state) {
    const auto first = std::ranges::min_element(op.parts, {}, &Op::ticks);
    state.acc = mix(state.acc, static_cast<std::uint32_t>(first - op.parts.begin()));
  }

  void race(const Op& op, State& state) {
    const bool struck = strikes(op, 1, state);
    const auto winner = static_cast<std::size_t>(op.winner);
    Frontier frontier = state.frontier;
    std::optional<std::uint32_t> value;
    for (std::size_t i = 0; i < op.parts.size(); ++i) {
      const Op& part = op.parts[i];
      if (i == winner && part.kind != Kind::sleep) {
        value = started(part, state, frontier, !struck);
      } else if (part.kind == Kind::child) {
        Frontier ignored;
        (void)born(part, state, ignored, false);
      }
    }
    if (struck) { throw Struck{}; }
    state.frontier = std::move(frontier);
    if (op.parts[winner].kind != Kind::sleep) { take(value, state); }
    state.acc = mix(state.acc, static_cast<std::uint32_t>(winner));
  }

  void attempt(const Op& op, State& state) {
    try {
      block(op.body, state);
    } catch (const Struck&) {
      block(op.handler, state);
      throw;
    } catch (const Failed&) {
      block(op.handler, state);
      if (op.rethrows) { throw; }
    }
  }

  void saga(const Op& op, State& state) {
    std::size_t done = 0;
    try {
      for (; done < op.body.size(); ++done) { exec(op.body[done], state); }
    } catch (const Struck&) {
      undo(op, done, state);
      throw;
    } catch (const Failed&) {
      undo(op, done, state);
      throw;
    }
  }

  // Runs every undo block, even after one fails. The first error is the one that is rethrown.
  void undo(const Op& op, std::size_t done, State& state) {
    bool failed = false;
    bool struck = false;
    while (done-- > 0) {
      try {
        block(op.undo[done], state);
      } catch (const Failed&) { failed = failed || !struck; } catch (const Struck&) {
        struck = struck || !failed;
      }
    }
    if (failed) { throw Failed{}; }
    if (struck) { throw Struck{}; }
  }

  void patch(const Op& op, State& state) {
    const auto known = state.run->log.patches.find(op.id);
    if (known == state.run->log.patches.end()) {
      problem(state.actor + " has never come to patch " + std::to_string(op.id));
    } else if (known->second) {
      block(op.body, state);
    } else {
      state.acc = mix(state.acc, 99);
    }
  }

  // An operation that was struck may or may not have begun: its effects are allowed, not required.
  void maybe(const Op& op, const State& state) {
    Frontier ignored;
    if (op.kind == Kind::step) { expect({state.actor, op.id}, op, state, false); }
    if (op.kind == Kind::task) { (void)sent(op, state, ignored, false); }
    if (op.kind == Kind::child) { (void)born(op, state, ignored, false); }
    if (op.kind == Kind::fan || op.kind == Kind::race) {
      for (const Op& part : op.parts) {
        if (part.kind == Kind::task || part.kind == Kind::child) { (void)started(part, state, ignored, false); }
      }
    }
  }

  // ---- The ledger against it -------------------------------------------------------------------------------------

  void compare() {
    for (const auto& [key, wanted] : expected_) {
      const auto found = observed_.calls.find(key);
      const int calls = found == observed_.calls.end() ? 0 : static_cast<int>(found->second.size());
      if (calls < wanted.least || calls > wanted.most) {
        problem(name(key) + " was called " + std::to_string(calls) + " times, expected " +
                std::to_string(wanted.least) + " to " + std::to_string(wanted.most));
      }
      if (calls > 0) { compare_calls(key, wanted, without_forgotten(key, wanted, found->second)); }
    }
    for (const auto& [key, calls] : observed_.calls) {
      if (!expected_.contains(key) && !is_forgotten(key, calls)) { problem(name(key) + " happened, and never should"); }
    }
    for (const auto& [actor, run] : observed_.runs) {
      if (!seen_runs_.contains(actor)) { problem(actor + " ran, and never should"); }
    }
    compare_seen();
  }

  // Number of calls of a step whose record was lost, in a run that was then cancelled at an earlier place, before it
  // reached the step again.
  [[nodiscard]] std::size_t forgotten(const EffectKey& key) const {
    const auto lost = observed_.lost.find(key);
    return struck_.contains(key.actor) && lost != observed_.lost.end() ? static_cast<std::size_t>(lost->second) : 0;
  }
  [[nodiscard]] bool is_forgotten(const EffectKey& key, const std::vector<Call>& calls) const {
    return forgotten(key) >= calls.size();
  }
  // If the undo path reaches the same step in another way, a lost call is recognised by its input.
  [[nodiscard]] std::vector<Call> without_forgotten(const EffectKey& key, const Expectation& wanted,
                                                    std::vector<Call> calls) const {
    std::size_t left = std::min(forgotten(key), calls.size() - (wanted.least > 0 ? 1 : 0));
    while (left-- > 0 && calls.front().effect.acc != wanted.acc) { calls.erase(calls.begin()); }
    return calls;
  }

  void compare_calls(const EffectKey& key, const Expectation& wanted, const std::vector<Call>& calls) {
    if (calls.empty()) { return; }
    for (const Call& call : calls) {
      if (call.effect.acc != wanted.acc) {
        problem(name(key) + " was given " + std::to_string(call.effect.acc) + ", expected " +
                std::to_string(wanted.acc));
      }
      if (call.effect.execution != calls.front().effect.execution) {
        problem(name(key) + " happened under two executions");
      }
    }
    for (const EffectKey& before : wanted.after) {
      const auto earlier = observed_.calls.find(before);
      if (earlier != observed_.calls.end() && earlier->second.back().number > calls.front().number) {
        problem(name(key) + " happened before " + name(before));
      }
    }
  }

  // Values of now(), random() and uuid() never change within a run: of two effects, one has seen all values of the
  // other.
  void compare_seen() {
    std::map<std::string, std::vector<std::string>> longest;
    for (const auto& [key, calls] : observed_.calls) {
      for (const Call& call : calls) {
        const auto& seen = call.effect.seen;
        auto& known = longest[key.actor];
        const std::size_t common = std::min(seen.size(), known.size());
        if (!std::equal(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(common), known.begin())) {
          problem(name(key) + " has seen another time, random number or id than before");
        }
        if (seen.size() > known.size()) { known = seen; }
      }
    }
  }

  static std::string name(const EffectKey& key) { return "operation " + std::to_string(key.op) + " of " + key.actor; }

  const Program& program_;
  const Observed& observed_;
  std::map<EffectKey, Expectation> expected_;
  std::set<std::string> seen_runs_;
  std::set<std::string> struck_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check(const Program& program, const std::string& chain, const Observed& observed) {
  return Oracle(program, observed).check(chain);
}

}  // namespace hapax::generated
