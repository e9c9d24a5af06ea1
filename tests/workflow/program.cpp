#include "workflow/program.hpp"

#include <algorithm>
#include <random>

namespace hapax::generated {

namespace {

// The place of an operation, and what is allowed there.
struct Scope {
  int depth = 0;
  bool may_fail = true;
  bool root = false;
  bool hangs = false;  // the run ends with a wait for a cancellation, so nothing before may swallow one
};

class Generator {
 public:
  Generator(std::uint64_t seed, int size) : random_(seed * 0x9e3779b97f4a7c15U + 1), budget_(size) {}

  std::shared_ptr<const Program> program(std::uint64_t seed) {
    auto made = std::make_shared<Program>();
    made->seed = seed;
    made->root = {.id = next_id_++, .kind = Kind::child};
    const bool hangs = chance(10);
    made->root.body =
        block({.depth = 0, .may_fail = true, .root = true, .hangs = hangs}, 1 + below(std::min(5, budget_)));
    finish_root(made->root.body, hangs);
    if (chance(12)) { made->cancel_after = below(12); }
    if (chance(40)) { made->upgrade_after = 1 + below(6); }
    index(*made, made->root);
    return made;
  }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint64_t>(bound)); }
  bool chance(int percent) { return below(100) < percent; }
  Op op(Kind kind) { return {.id = next_id_++, .kind = kind}; }

  static void index(Program& program, const Op& op) {
    program.by_id.emplace(op.id, &op);
    for (const auto* list : {&op.body, &op.handler, &op.parts}) {
      for (const Op& inner : *list) { index(program, inner); }
    }
    for (const auto& undo : op.undo) {
      for (const Op& inner : undo) { index(program, inner); }
    }
  }

  void finish_root(std::vector<Op>& body, bool hangs) {
    const int draw = below(100);
    if (hangs) {
      body.push_back(hang());
    } else if (draw < 22) {
      body.push_back(go_on({.depth = 1, .may_fail = true, .root = true}));
    } else if (draw < 26) {
      body.push_back(op(Kind::fail));
    }
  }

  std::vector<Op> block(const Scope& scope, int length) {
    std::vector<Op> ops;
    for (int i = 0; i < length; ++i) { ops.push_back(draw(scope)); }
    return ops;
  }

  Op draw(const Scope& scope) {
    --budget_;
    const bool deep = scope.depth >= 3 || budget_ <= 0;
    const int number = below(deep ? 70 : 134);
    if (number < 22) { return step(scope); }
    if (number < 36) { return task(scope); }
    if (number < 45) { return sleep(); }
    if (number < 56) { return signal(scope); }
    if (number < 62) { return op(Kind::stamp); }
    if (number < 64) { return op(Kind::attribute); }
    if (number < 70) { return timers(); }
    if (number < 80) { return fan(scope); }
    if (number < 92) { return race(scope); }
    if (number < 102) { return child(scope); }
    if (number < 115) { return attempt(scope); }
    if (number < 125) { return saga(scope); }
    return patch(scope);
  }

  void draw_mode(Op& made, const Scope& scope) {
    const int number = below(100);
    if (number < 20) {
      made.mode = Mode::flaky;
      made.count = 1 + below(2);
    } else if (number < 28 && scope.may_fail) {
      made.mode = Mode::failing;
      made.count = 1 + below(2);
    } else if (number < 32 && scope.may_fail) {
      made.mode = Mode::permanent;
    }
  }

  Op step(const Scope& scope) {
    Op made = op(Kind::step);
    made.atomic = chance(30);
    if (!made.atomic) {
      draw_mode(made, scope);
    } else if (scope.may_fail && chance(10)) {
      made.mode = Mode::permanent;  // a permanent failure: the body is not called again
    }
    return made;
  }

  Op task(const Scope& scope) {
    Op made = op(Kind::task);
    draw_mode(made, scope);
    if (chance(30)) { made.ticks = 1 + below(4); }
    return made;
  }

  Op sleep() {
    Op made = op(Kind::sleep);
    made.ticks = below(6);
    return made;
  }

  Op signal(const Scope& scope) {
    Op made = op(Kind::signal);
    const int number = below(100);
    if (number < 20) {
      made.way = Way::patient;
    } else if (number < 35) {
      made.way = Way::impatient;
    } else if (number < 50) {
      made.way = Way::late;
    } else if (number < 75 && scope.root) {
      made.way = Way::early;
    }
    made.ticks = 1 + below(3);
    return made;
  }

  static Scope inside(const Scope& scope) {
    return {.depth = scope.depth + 1, .may_fail = scope.may_fail, .root = scope.root, .hangs = scope.hangs};
  }

  Op body_of_child(const Scope& scope) {
    Op made = op(Kind::child);
    const Scope inner{.depth = scope.depth + 1, .may_fail = scope.may_fail, .root = false};
    made.body = block(inner, 1 + below(3));
    return made;
  }

  Op child(const Scope& scope) {
    Op made = body_of_child(scope);
    const int number = below(100);
    if (number < 15) {
      made.way = Way::loose;
    } else if (number < 30) {
      made.way = Way::abandoned;
    }
    if (chance(12)) {
      made.body.push_back(go_on({.depth = scope.depth + 2, .may_fail = scope.may_fail, .root = false}));
    } else if (chance(8) && scope.may_fail) {
      made.body.push_back(op(Kind::fail));
    }
    return made;
  }

  Op fan(const Scope& scope) {
    Op made = op(Kind::fan);
    const int parts = 2 + below(3);
    for (int i = 0; i < parts; ++i) {
      const int number = below(100);
      if (number < 55) {
        made.parts.push_back(task(inside(scope)));
      } else if (number < 75) {
        made.parts.push_back(body_of_child(inside(scope)));
      } else {
        made.parts.push_back(sleep());
      }
    }
    if (chance(40)) { made.body = block(inside(scope), 1); }
    return made;
  }

  Op timers() {
    Op made = op(Kind::timers);
    std::vector<int> lengths = {1, 2, 3, 4, 5, 6};
    std::shuffle(lengths.begin(), lengths.end(), random_);
    const int parts = 2 + below(2);
    for (int i = 0; i < parts; ++i) {
      made.parts.push_back(op(Kind::sleep));
      made.parts.back().ticks = lengths[static_cast<std::size_t>(i)];
    }
    made.way = chance(50) ? Way::plain : Way::any;
    return made;
  }

  // One part ends soon; a timer races only against one other part.
  Op race(const Scope& scope) {
    Op made = op(Kind::race);
    made.way = chance(35) ? Way::any : Way::plain;
    const bool with_timer = chance(40);
    const bool timer_wins = with_timer && chance(50);
    Op winner = timer_wins ? sleep() : soon(scope);
    if (timer_wins) { winner.ticks = 1 + below(3); }
    made.parts.push_back(std::move(winner));
    const int losers = with_timer ? 1 : 1 + below(2);
    for (int i = 0; i < losers; ++i) {
      if (with_timer && !timer_wins) {
        made.parts.push_back(op(Kind::sleep));
        made.parts.back().ticks = never;
      } else {
        made.parts.push_back(loser(scope, made.way == Way::plain));
      }
    }
    const int place = below(static_cast<int>(made.parts.size()));
    std::swap(made.parts.front(), made.parts[static_cast<std::size_t>(place)]);
    made.winner = place;
    return made;
  }

  Op soon(const Scope& scope) {
    const int number = below(100);
    if (number < 55) { return task(scope); }
    if (number < 80) { return body_of_child(scope); }
    return op(Kind::signal);
  }

  Op loser(const Scope& scope, bool is_cancelled) {
    const int number = below(100);
    if (number < 40) {
      Op made = op(Kind::task);
      made.ticks = never;
      return made;
    }
    if (number < 80 && is_cancelled) {
      Op made = op(Kind::child);
      const Scope inner{.depth = scope.depth + 1, .may_fail = false, .root = false, .hangs = true};
      if (chance(50)) {
        Op guarded = op(Kind::attempt);
        guarded.rethrows = chance(50);
        guarded.body = block(inner, below(2));
        guarded.body.push_back(hang());
        guarded.handler = block(undoing(inner), 1 + below(2));
        made.body.push_back(std::move(guarded));
      } else {
        made.body = block(inner, below(3));
        made.body.push_back(hang());
      }
      return made;
    }
    Op made = op(Kind::signal);
    made.way = Way::impatient;  // its signal is never sent
    return made;
  }

  Op hang() {
    Op made = op(Kind::hang);
    made.count = below(3);
    return made;
  }

  static Scope undoing(const Scope& scope) {
    return {.depth = scope.depth + 1, .may_fail = false, .root = scope.root, .hangs = scope.hangs};
  }

  Op failing(const Scope& scope) {
    const int number = below(100);
    Op made = op(number < 30 ? Kind::fail : number < 65 ? Kind::step : number < 90 ? Kind::task : Kind::child);
    if (made.kind == Kind::child) {
      const Scope inner{.depth = scope.depth + 1, .may_fail = true, .root = false};
      made.body = block(inner, below(2));
      made.body.push_back(op(Kind::fail));
    } else if (made.kind != Kind::fail) {
      made.mode = chance(50) ? Mode::permanent : Mode::failing;
      made.count = 1 + below(2);
    }
    return made;
  }

  Op attempt(const Scope& scope) {
    Op made = op(Kind::attempt);
    Scope inner = inside(scope);
    inner.may_fail = true;
    made.rethrows = scope.may_fail && chance(30);
    made.body = block(inner, 1 + below(2));
    if (chance(75)) { made.body.push_back(failing(inner)); }
    made.handler = block(undoing(scope), 1 + below(3));
    return made;
  }

  // A saga that must not fail is wrapped in an attempt.
  Op saga(const Scope& scope) {
    Op made = op(Kind::saga);
    Scope inner = inside(scope);
    inner.may_fail = true;
    const int parts = 1 + below(3);
    for (int i = 0; i < parts; ++i) {
      made.body.push_back(draw(inner));
      Scope back = undoing(scope);
      back.may_fail = chance(10) && !scope.hangs;  // a failure here replaces the cancellation
      made.undo.push_back(block(back, 1 + below(2)));
    }
    if (chance(70)) {
      made.body.push_back(failing(inner));
      made.undo.emplace_back();
    }
    if (scope.may_fail && chance(40)) { return made; }
    Op around = op(Kind::attempt);
    around.body.push_back(std::move(made));
    around.handler = block(undoing(scope), below(2));
    return around;
  }

  Op patch(const Scope& scope) {
    Op made = op(Kind::patch);
    made.body = block(inside(scope), 1);
    return made;
  }

  Op go_on(const Scope& scope) {
    Op made = op(Kind::go_on);
    made.body = block(scope, 1 + below(2));
    return made;
  }

  std::mt19937_64 random_;
  int budget_;
  int next_id_ = 1;
};

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::step: return "step";
    case Kind::task: return "task";
    case Kind::sleep: return "sleep";
    case Kind::signal: return "signal";
    case Kind::child: return "child";
    case Kind::fan: return "fan";
    case Kind::timers: return "timers";
    case Kind::race: return "race";
    case Kind::attempt: return "attempt";
    case Kind::saga: return "saga";
    case Kind::patch: return "patch";
    case Kind::stamp: return "stamp";
    case Kind::attribute: return "attribute";
    case Kind::hang: return "hang";
    case Kind::fail: return "fail";
    case Kind::go_on: return "go_on";
  }
  return "?";
}

const char* name_of(Way way) {
  switch (way) {
    case Way::plain: return "";
    case Way::early: return " early";
    case Way::patient: return " patient";
    case Way::impatient: return " impatient";
    case Way::late: return " late";
    case Way::loose: return " loose";
    case Way::abandoned: return " abandoned";
    case Way::any: return " any";
  }
  return " ?";
}

void print(std::string& text, const Op& op, int indent, const std::string& role);

void print_all(std::string& text, const std::vector<Op>& ops, int indent, const std::string& role) {
  for (const Op& inner : ops) { print(text, inner, indent, role); }
}

void print(std::string& text, const Op& op, int indent, const std::string& role) {
  text += std::string(static_cast<std::size_t>(2 * indent), ' ') + role + std::to_string(op.id) + " " +
          name_of(op.kind) + name_of(op.way);
  if (op.mode == Mode::flaky) { text += " flaky " + std::to_string(op.count); }
  if (op.mode == Mode::failing) { text += " failing " + std::to_string(op.count); }
  if (op.mode == Mode::permanent) { text += " permanent"; }
  if (op.ticks != 0) { text += op.ticks == never ? " never" : " ticks " + std::to_string(op.ticks); }
  if (op.kind == Kind::race) { text += " winner " + std::to_string(op.winner); }
  if (op.rethrows) { text += " rethrows"; }
  if (op.atomic) { text += " atomic"; }
  text += "\n";
  print_all(text, op.parts, indent + 1, "part ");
  print_all(text, op.body, indent + 1, "");
  print_all(text, op.handler, indent + 1, "catch ");
  for (const auto& undo : op.undo) { print_all(text, undo, indent + 1, "undo "); }
}

void collect(const Op& op, std::vector<PlannedSignal>& signals, std::size_t& early);

void collect_all(const std::vector<Op>& ops, std::vector<PlannedSignal>& signals, std::size_t& early) {
  for (const Op& inner : ops) {
    if (inner.kind != Kind::child) { collect(inner, signals, early); }  // a child has its own signals
  }
}

void collect(const Op& op, std::vector<PlannedSignal>& signals, std::size_t& early) {
  if (op.kind == Kind::signal && op.way == Way::early) {
    signals.push_back({.name = "e", .payload = early_payload(early++), .early = true});
  } else if (op.kind == Kind::signal && op.way != Way::impatient) {
    signals.push_back({.name = "s" + std::to_string(op.id), .payload = payload_of(op.id)});
  }
  collect_all(op.parts, signals, early);
  collect_all(op.body, signals, early);
  collect_all(op.handler, signals, early);
  for (const auto& undo : op.undo) { collect_all(undo, signals, early); }
}

}  // namespace

std::shared_ptr<const Program> generate(std::uint64_t seed, int size) { return Generator(seed, size).program(seed); }

std::string to_string(const Program& program) {
  std::string text = "program of seed " + std::to_string(program.seed);
  if (program.cancel_after) { text += ", cancelled after turn " + std::to_string(*program.cancel_after); }
  if (program.upgrade_after) { text += ", upgraded after process " + std::to_string(*program.upgrade_after); }
  text += "\n";
  print(text, program.root, 1, "");
  return text;
}

std::vector<PlannedSignal> signals_of(const Op& chain) {
  std::vector<PlannedSignal> signals;
  std::size_t early = 0;
  collect(chain, signals, early);
  return signals;
}

std::uint32_t payload_of(int op) { return mix(12345, static_cast<std::uint32_t>(op)); }
std::uint32_t early_payload(std::size_t index) { return 1000 + static_cast<std::uint32_t>(index); }

}  // namespace hapax::generated
