#include "workflow/interpreter.hpp"

#include <hapax/saga.hpp>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>

namespace hapax::generated {

namespace {

std::atomic<int> scopes{0};
std::atomic<int> aside_in_catch{0};

// An object with a destructor in each block, which unwinding must run.
class LiveScope {
 public:
  LiveScope() { scopes.fetch_add(1); }
  LiveScope(const LiveScope&) = delete;
  LiveScope& operator=(const LiveScope&) = delete;
  ~LiveScope() { scopes.fetch_sub(1); }
};

[[noreturn]] void throw_failure(const Op& op) {
  const std::string text = "operation " + std::to_string(op.id) + " fails";
  if (op.mode == Mode::permanent) { throw Permanent(text); }
  throw std::runtime_error(text);
}

// Performs the effect of a step or a task, and fails as the operation's mode says.
std::uint32_t happen(const Setting& setting, const Op& op, const Ledger::Effect& effect) {
  const int before = setting.ledger.effect(effect);
  const bool fails =
      op.mode == Mode::failing || op.mode == Mode::permanent || (op.mode == Mode::flaky && before < op.count);
  if (fails) { throw_failure(op); }
  return mix(effect.acc, static_cast<std::uint32_t>(op.id));
}

int attempts_of(const Op& op) {
  switch (op.mode) {
    case Mode::ok:
    case Mode::permanent: break;
    case Mode::flaky: return op.count + 1;
    case Mode::failing: return op.count;
  }
  return 4;
}

class Interpreter {
 public:
  Interpreter(const Setting& setting, WorkflowContext& context, const RunInput& input)
      : setting_(setting),
        ctx_(context),
        input_(input),
        program_(setting.find(input.program)),
        actor_(input.chain + "#" + std::to_string(input.generation)),
        acc_(input.acc) {}

  std::uint32_t run() {
    setting_.ledger.began(actor_, ctx_.execution_id());
    block(program_->at(input_.op).body);
    return acc_;
  }

 private:
  void block(const std::vector<Op>& ops) {
    const LiveScope scope;
    for (const Op& op : ops) { exec(op); }
  }

  // Runs a handler inside a catch block, or undo operations called from one.
  void handle(const std::vector<Op>& ops, Guard guard) {
    setting_.ledger.entered(actor_, guard);
    try {
      block(ops);
    } catch (...) {
      if (detail::is_unwinding()) { aside_in_catch.fetch_add(1); }
      setting_.ledger.left(actor_, guard);
      throw;
    }
    setting_.ledger.left(actor_, guard);
  }

  void exec(const Op& op) {
    stage_ = 0;
    try {
      exec_kind(op);
    } catch (const Cancelled&) {
      if (!struck_) {
        struck_ = true;
        setting_.ledger.struck(actor_, {.op = op.id, .stage = stage_});
      }
      throw;
    }
  }

  void exec_kind(const Op& op) {
    switch (op.kind) {
      case Kind::step: return step(op);
      case Kind::task: return take(start_task(op));
      case Kind::sleep: return ctx_.sleep(ticks(op.ticks));
      case Kind::signal: return signal(op);
      case Kind::child: return child(op);
      case Kind::fan: return fan(op);
      case Kind::timers: return timers(op);
      case Kind::race: return race(op);
      case Kind::attempt: return op.rethrows ? attempt_and_rethrow(op) : attempt(op);
      case Kind::saga: return saga(op);
      case Kind::patch: return patch(op);
      case Kind::stamp: return stamp(op);
      case Kind::attribute: return ctx_.set_attribute("at", std::to_string(op.id));
      case Kind::hang: return hang(op);
      case Kind::fail: throw_failure(op);
      case Kind::go_on: go_on(op);
    }
  }

  [[nodiscard]] Duration ticks(int count) const { return count == never ? setting_.forever : setting_.tick * count; }
  [[nodiscard]] RetryPolicy retry() const {
    return {.base = setting_.retry, .cap = setting_.retry, .multiplier = 1, .jitter = Jitter::none};
  }
  [[nodiscard]] std::string below(const Op& op) const { return actor_ + "/" + std::to_string(op.id); }

  void step(const Op& op) {
    const Ledger::Effect effect{.key = {actor_, op.id}, .execution = ctx_.execution_id(), .acc = acc_, .seen = seen_};
    const std::string name = "s" + std::to_string(op.id);
    if (op.atomic && setting_.transactions) {
      acc_ = ctx_.transaction(name, [&](Transaction&) { return happen(setting_, op, effect); });
    } else {
      acc_ = ctx_.step(name, [&] { return happen(setting_, op, effect); },
                       {.max_attempts = attempts_of(op), .retry = retry()});
    }
  }

  Started<std::uint32_t> start_task(const Op& op) {
    // An attempt that is lost with its worker is spent, so a flaky task gets 50 more.
    RunOptions options{.max_attempts = attempts_of(op) + (op.mode == Mode::flaky ? 50 : 0), .retry = retry()};
    if (op.ticks != 0) { options.delay = ticks(op.ticks); }
    if (op.id % 3 == 0) { options.queue = "other"; }
    return ctx_.start(setting_.sturdy ? sturdy_work : work,
                      {.program = input_.program, .actor = below(op), .op = op.id, .acc = acc_}, options);
  }

  Started<std::uint32_t> start_child(const Op& op) {
    ChildOptions options;
    if (op.id % 2 == 0) { options.workflow_id = below(op); }
    if (op.way == Way::abandoned) { options.parent_close = ParentClose::abandon; }
    return ctx_.start(setting_.sturdy ? sturdy_flow : flow,
                      {.program = input_.program, .chain = below(op), .op = op.id, .generation = 0, .acc = acc_},
                      options);
  }

  Started<std::uint32_t> start(const Op& op) {
    if (op.kind == Kind::task) { return start_task(op); }
    if (op.kind == Kind::child) { return start_child(op); }
    return ctx_.signal<std::uint32_t>(signal_name(op));
  }

  void take(const Started<std::uint32_t>& started) { acc_ = mix(acc_, started.get()); }

  static std::string signal_name(const Op& op) {
    if (op.way == Way::early) { return "e"; }
    return (op.way == Way::impatient ? "n" : "s") + std::to_string(op.id);
  }

  void signal(const Op& op) {
    const std::string name = signal_name(op);
    std::optional<std::uint32_t> payload;
    switch (op.way) {
      case Way::patient: payload = ctx_.wait_signal<std::uint32_t>(name, setting_.forever); break;
      case Way::impatient: payload = ctx_.wait_signal<std::uint32_t>(name, ticks(op.ticks)); break;
      case Way::late:
        payload = ctx_.wait_signal<std::uint32_t>(name, ticks(op.ticks));
        if (!payload) { payload = ctx_.wait_signal<std::uint32_t>(name); }
        break;
      default: payload = ctx_.wait_signal<std::uint32_t>(name);
    }
    acc_ = mix(acc_, payload.value_or(7));
  }

  void child(const Op& op) {
    const auto started = start_child(op);
    if (op.way == Way::plain) { take(started); }
  }

  void fan(const Op& op) {
    std::vector<Started<std::uint32_t>> values;
    std::vector<Started<void>> timers;
    for (const Op& part : op.parts) {
      if (part.kind == Kind::sleep) {
        timers.push_back(ctx_.timer(ticks(part.ticks)));
      } else {
        values.push_back(start(part));
      }
    }
    block(op.body);
    stage_ = 1;
    const std::vector<std::uint32_t> results = ctx_.all(values);
    ctx_.all(timers);
    for (const std::uint32_t result : results) { acc_ = mix(acc_, result); }
  }

  void timers(const Op& op) {
    std::vector<Started<void>> started;
    for (const Op& part : op.parts) { started.push_back(ctx_.timer(ticks(part.ticks))); }
    const std::size_t first = ctx_.any(started);
    if (op.way == Way::any) { ctx_.all(started); }
    acc_ = mix(acc_, static_cast<std::uint32_t>(first));
  }

  void race(const Op& op) {
    const bool any = op.way == Way::any;
    std::vector<Started<std::uint32_t>> values;
    std::optional<Started<void>> timer;
    for (const Op& part : op.parts) {
      if (part.kind == Kind::sleep) {
        timer = ctx_.timer(ticks(part.ticks));
      } else {
        values.push_back(start(part));
      }
    }
    stage_ = 1;
    std::size_t first = 0;
    if (!timer) {
      first = any ? ctx_.any(values) : ctx_.race(values);
    } else if (op.parts[0].kind == Kind::sleep) {
      first = any ? ctx_.any(*timer, values[0]) : ctx_.race(*timer, values[0]);
    } else {
      first = any ? ctx_.any(values[0], *timer) : ctx_.race(values[0], *timer);
    }
    if (op.parts[first].kind != Kind::sleep) { take(values[timer ? 0 : first]); }
    acc_ = mix(acc_, static_cast<std::uint32_t>(first));
  }

  void attempt_and_rethrow(const Op& op) {
    try {
      block(op.body);
    } catch (...) {
      handle(op.handler, Guard::handler);
      throw;
    }
  }

  void attempt(const Op& op) {
    try {
      block(op.body);
    } catch (const Cancelled&) {
      handle(op.handler, Guard::handler);
      throw;
    } catch (const std::exception&) { handle(op.handler, Guard::handler); }
  }

  void saga(const Op& op) {
    hapax::saga(ctx_, [&](Saga& saga) {
      for (std::size_t i = 0; i < op.body.size(); ++i) {
        exec(op.body[i]);
        saga.undo("undo", [this, &op, i] { handle(op.undo[i], Guard::compensation); });
      }
    });
  }

  void patch(const Op& op) {
    const bool patched = setting_.upgraded && ctx_.patched("p" + std::to_string(op.id));
    setting_.ledger.patched(actor_, op.id, patched);
    if (patched) {
      block(op.body);
    } else {
      seen_.push_back(format_time(ctx_.now()));
      acc_ = mix(acc_, 99);
    }
  }

  void stamp(const Op& op) {
    switch (op.id % 3) {
      case 0: seen_.push_back(format_time(ctx_.now())); break;
      case 1: seen_.push_back(std::to_string(ctx_.random_bits())); break;
      default: seen_.push_back(ctx_.uuid().to_string());
    }
  }

  void hang(const Op& op) {
    if (op.count == 0) {
      (void)ctx_.wait_signal<std::uint32_t>("never");
    } else if (op.count == 1) {
      ctx_.sleep(setting_.forever);
    } else {
      const auto timer = ctx_.timer(setting_.forever);
      (void)ctx_.any(timer, ctx_.signal<std::uint32_t>("never"));
    }
    throw std::logic_error("what never comes has come");
  }

  [[noreturn]] void go_on(const Op& op) {
    ctx_.continue_as_new(RunInput{.program = input_.program,
                                  .chain = input_.chain,
                                  .op = op.id,
                                  .generation = input_.generation + 1,
                                  .acc = acc_});
  }

  const Setting& setting_;
  WorkflowContext& ctx_;
  const RunInput& input_;
  const std::shared_ptr<const Program> program_;
  const std::string actor_;
  std::uint32_t acc_;
  std::vector<std::string> seen_;
  int stage_ = 0;
  bool struck_ = false;
};

// Splits a text of numbers and a last word at its spaces.
class Words {
 public:
  explicit Words(std::string text) : text_(std::move(text)) {}
  std::uint64_t number() { return std::stoull(word()); }
  std::string word() {
    const std::size_t end = std::min(text_.find(' ', at_), text_.size());
    std::string found = text_.substr(at_, end - at_);
    at_ = std::min(end + 1, text_.size());
    return found;
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

}  // namespace

void to_json(nlohmann::json& json, const RunInput& input) {
  json = std::to_string(input.program) + " " + std::to_string(input.op) + " " + std::to_string(input.generation) + " " +
         std::to_string(input.acc) + " " + input.chain;
}
void from_json(const nlohmann::json& json, RunInput& input) {
  Words words(json.get<std::string>());
  input.program = words.number();
  input.op = static_cast<int>(words.number());
  input.generation = static_cast<int>(words.number());
  input.acc = static_cast<std::uint32_t>(words.number());
  input.chain = words.word();
}
void to_json(nlohmann::json& json, const TaskInput& input) {
  json = std::to_string(input.program) + " " + std::to_string(input.op) + " " + std::to_string(input.acc) + " " +
         input.actor;
}
void from_json(const nlohmann::json& json, TaskInput& input) {
  Words words(json.get<std::string>());
  input.program = words.number();
  input.op = static_cast<int>(words.number());
  input.acc = static_cast<std::uint32_t>(words.number());
  input.actor = words.word();
}

void handle_programs(App& app, const std::shared_ptr<const Setting>& setting) {
  app.handle(work, [setting](TaskContext& context, const TaskInput& input) {
    const auto program = setting->find(input.program);
    return happen(*setting, program->at(input.op),
                  {.key = {input.actor, input.op}, .execution = context.execution_id(), .acc = input.acc, .seen = {}});
  });
  app.handle(flow, [setting](WorkflowContext& context, const RunInput& input) {
    return Interpreter(*setting, context, input).run();
  });
}

RunInput root_input(const Program& program, const std::string& chain) {
  return {.program = program.seed, .chain = chain, .op = program.root.id, .generation = 0, .acc = 1};
}

int live_scopes() { return scopes.load(); }
int put_aside_in_catch() { return aside_in_catch.load(); }

}  // namespace hapax::generated
