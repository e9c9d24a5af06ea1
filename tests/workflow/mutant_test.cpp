// Workflows whose code changes under them. Each of these mutants meets a run that the original has begun. The run must
// be parked with a reason that names both sides, the mutant must have no effect, and the original must bring the run to
// its end.
#include <hapax/hapax.hpp>
#include <hapax/testing.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace hapax {

namespace {

using namespace std::chrono_literals;

const Task<int, int> charge{"charge"};
const Task<int, int> refund{"refund"};
const Workflow<int, int> child{"child"};
const Workflow<int, int> other_child{"other_child"};
const Workflow<int, int> mutant_flow{"flow"};

using Function = std::function<int(WorkflowContext&, std::vector<std::string>& trace)>;

struct Mutant {
  std::string name;
  std::string journal;  // `journal` and `code`: both sides, as the stuck reason names them
  std::string code;
  Function function;
};

void PrintTo(const Mutant& mutant, std::ostream* out) { *out << mutant.name; }

int step(WorkflowContext& ctx, std::vector<std::string>& trace, const std::string& name) {
  return ctx.step(name, [&] {
    trace.push_back(name);
    return 1;
  });
}

// When the workflow waits for "go" it has done half of its parts: a step, a task, two timers, a child, a time, an ID,
// an attribute.
struct Parts {
  std::function<void(WorkflowContext&, std::vector<std::string>&)> before = [](WorkflowContext&, auto&) {};
  std::string first = "reserve";
  std::string second = "pack";
  bool with_second = true;
  const Task<int, int>* task = &charge;
  bool with_task = true;
  bool task_first = false;
  bool with_timer = true;
  int timers = 2;
  const Workflow<int, int>* sub = &child;
  bool as_task = false;
  bool with_now = true;
  bool uuid_first = false;
  std::string attribute = "city";
  std::string signal = "go";
  std::function<void(WorkflowContext&, std::vector<std::string>&)> middle = [](WorkflowContext&, auto&) {};
  enum class End : std::uint8_t { waits, returns, throws, continues, sleeps } end = End::waits;
  bool second_as_text = false;
};

int play(const Parts& parts, WorkflowContext& ctx, std::vector<std::string>& trace) {
  int sum = 0;
  parts.before(ctx, trace);
  if (parts.task_first) { sum += ctx.run(*parts.task, 1); }
  sum += step(ctx, trace, parts.first);
  if (parts.with_task && !parts.task_first) { sum += ctx.run(*parts.task, 1); }
  if (parts.with_second && parts.second_as_text) {
    sum += static_cast<int>(ctx.step(parts.second, [&] { return std::string("one"); }).size());
  } else if (parts.with_second) {
    sum += step(ctx, trace, parts.second);
  }
  if (parts.with_timer) {
    std::vector<Started<void>> timers;
    for (int i = 0; i < parts.timers; ++i) { timers.push_back(ctx.timer(std::chrono::hours(2 - i))); }
    sum += static_cast<int>(ctx.any(timers));
  }
  parts.middle(ctx, trace);
  sum += parts.as_task ? ctx.run(charge, 2) : ctx.run(*parts.sub, 2);
  if (parts.uuid_first) { (void)ctx.uuid(); }
  if (parts.with_now) { (void)ctx.now(); }
  if (!parts.uuid_first) { (void)ctx.uuid(); }
  ctx.set_attribute(parts.attribute, "Basel");
  if (parts.end == Parts::End::returns) { return sum; }
  if (parts.end == Parts::End::throws) { throw std::runtime_error("changed my mind"); }
  if (parts.end == Parts::End::continues) { ctx.continue_as_new(2); }
  if (parts.end == Parts::End::sleeps) { ctx.sleep(1h); }
  sum += ctx.wait_signal<int>(parts.signal);
  sum += step(ctx, trace, "ship");
  return sum;
}

Mutant mutant(std::string name, std::string journal, std::string code, const std::function<void(Parts&)>& change) {
  Parts parts;
  change(parts);
  return {std::move(name), std::move(journal), std::move(code),
          [parts](WorkflowContext& ctx, std::vector<std::string>& trace) { return play(parts, ctx, trace); }};
}

std::vector<Mutant> mutants() {
  using End = Parts::End;
  const auto added = [](WorkflowContext& ctx, std::vector<std::string>& trace) { (void)step(ctx, trace, "added"); };
  return {
      mutant("StepRenamed", "step 'reserve'", "step 'book'", [](Parts& p) { p.first = "book"; }),
      mutant("LaterStepRenamed", "step 'pack'", "step 'wrap'", [](Parts& p) { p.second = "wrap"; }),
      mutant("StepsExchanged", "step 'reserve'", "step 'pack'", [](Parts& p) { std::swap(p.first, p.second); }),
      mutant("StepRemoved", "step 'pack'", "timer", [](Parts& p) { p.with_second = false; }),
      mutant("StepAddedInFront", "step 'reserve'", "step 'added'", [&](Parts& p) { p.before = added; }),
      mutant("StepAddedInTheMiddle", "workflow 'child'", "step 'added'", [&](Parts& p) { p.middle = added; }),
      mutant("TaskChanged", "task 'charge'", "task 'refund'", [](Parts& p) { p.task = &refund; }),
      mutant("TaskRemoved", "task 'charge'", "step 'pack'", [](Parts& p) { p.with_task = false; }),
      mutant("TaskBeforeStep", "step 'reserve'", "task 'charge'", [](Parts& p) { p.task_first = true; }),
      mutant("TaskAdded", "workflow 'child'", "task 'refund'",
             [](Parts& p) { p.middle = [](WorkflowContext& ctx, auto&) { (void)ctx.run(refund, 9); }; }),
      mutant("ChildChanged", "workflow 'child'", "workflow 'other_child'", [](Parts& p) { p.sub = &other_child; }),
      mutant("ChildBecomesTask", "workflow 'child'", "task 'charge'", [](Parts& p) { p.as_task = true; }),
      mutant("SleepRemoved", "timer", "workflow 'child'", [](Parts& p) { p.with_timer = false; }),
      mutant("TimerAdded", "choice 'any'", "timer", [](Parts& p) { p.timers = 3; }),
      mutant("TimerRemoved", "timer", "choice 'any'", [](Parts& p) { p.timers = 1; }),
      mutant("NowRemoved", "now", "uuid", [](Parts& p) { p.with_now = false; }),
      mutant("NowAndUuidExchanged", "now", "uuid", [](Parts& p) { p.uuid_first = true; }),
      mutant("AttributeRenamed", "step 'set city'", "step 'set town'", [](Parts& p) { p.attribute = "town"; }),
      mutant("SignalRenamed", "signal 'go'", "signal 'leave'", [](Parts& p) { p.signal = "leave"; }),
      mutant("ReturnsEarly", "signal 'go'", "the code ends", [](Parts& p) { p.end = End::returns; }),
      mutant("ThrowsEarly", "signal 'go'", "changed my mind", [](Parts& p) { p.end = End::throws; }),
      mutant("ContinuesEarly", "signal 'go'", "continues as new", [](Parts& p) { p.end = End::continues; }),
      mutant("SleepsInstead", "signal 'go'", "timer", [](Parts& p) { p.end = End::sleeps; }),
      mutant("TypeChanged", "recorded result of 'pack'", "does not fit the code",
             [](Parts& p) { p.second_as_text = true; }),
  };
}

class Mutants : public ::testing::TestWithParam<Mutant> {};

TEST_P(Mutants, AreParkedAndTheOriginalGoesOn) {
  App app = testing::open();
  std::vector<std::string> trace;
  bool mutated = false;
  for (const auto& task : {charge, refund}) {
    app.handle(task, [&, name = task.name()](const int& n) {
      trace.push_back(name + " " + std::to_string(n));
      return 10 * n;
    });
  }
  for (const auto& sub : {child, other_child}) {
    app.handle(sub,
               [&, name = sub.name()](WorkflowContext& ctx, const int& n) { return 100 * n * step(ctx, trace, name); });
  }
  app.handle(mutant_flow, [&](WorkflowContext& ctx, const int&) {
    return mutated ? GetParam().function(ctx, trace) : play(Parts{}, ctx, trace);
  });

  auto handle = app.start(mutant_flow, 1, {.workflow_id = "a"});
  testing::drain(app, {.through_delays = true});
  ASSERT_TRUE(app.get(handle.id())->waiting);
  const std::vector<std::string> half = {"reserve", "charge 1", "pack", "child"};
  ASSERT_EQ(trace, half);

  // The mutant meets the run; the signal that the run waits for is there, so that the mutant could go on.
  mutated = true;
  handle.signal("go", 1000);
  testing::drain(app);
  const auto parked = app.get(handle.id());
  EXPECT_EQ(parked->status, Status::pending);
  EXPECT_TRUE(parked->waiting);
  EXPECT_NE(parked->stuck_reason.find(GetParam().journal), std::string::npos) << parked->stuck_reason;
  EXPECT_NE(parked->stuck_reason.find(GetParam().code), std::string::npos) << parked->stuck_reason;
  // Each later turn parks the run with the same reason.
  for (int i = 0; i < 5; ++i) {
    testing::advance(app, 1h);
    testing::drain(app);
  }
  EXPECT_EQ(app.get(handle.id())->stuck_reason, parked->stuck_reason);
  EXPECT_EQ(trace, half) << "the mutant has done something";
  EXPECT_EQ(app.list({.statuses = {Status::pending, Status::running}}).size(), 1U)
      << "the mutant has started something";

  mutated = false;
  testing::advance(app, 1h);
  testing::drain(app, {.through_delays = true});
  EXPECT_EQ(handle.status(), Status::completed);
  EXPECT_EQ(handle.result(), 1 + 10 + 1 + 1 + 200 + 1000 + 1);
  EXPECT_EQ(app.get(handle.id())->stuck_reason, "");
  EXPECT_EQ(trace, (std::vector<std::string>{"reserve", "charge 1", "pack", "child", "ship"}));
}

INSTANTIATE_TEST_SUITE_P(All, Mutants, ::testing::ValuesIn(mutants()),
                         [](const auto& mutant) { return mutant.param.name; });

}  // namespace

}  // namespace hapax
