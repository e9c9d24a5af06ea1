#include "workflow/outside.hpp"

#include <utility>

namespace hapax::generated {

namespace {

bool hangs(const Program& program) {
  const Op* last = &program.root.body.back();
  while (last->kind == Kind::go_on) { last = &last->body.back(); }
  return last->kind == Kind::hang;
}

}  // namespace

void Outside::start(const std::shared_ptr<const Program>& program) {
  const std::string chain = "p" + std::to_string(program->seed);
  (void)app_.start(options_.sturdy ? sturdy_flow : flow, root_input(*program, chain), {.workflow_id = chain});
  programs_.emplace(program->seed, program);
  // Programs that hang are cancelled at a random time, and so are a few others.
  if (hangs(*program) || program->cancel_after) {
    const auto after =
        Duration(static_cast<Duration::rep>(random_.fraction() * static_cast<double>(options_.cancel_within.count())));
    cancels_.emplace(Clock::now() + after, chain);
  }
}

void Outside::act(const Enough& enough) {
  send_signals(enough);
  send_cancels(enough);
}

std::size_t Outside::live() {
  return app_.list({.statuses = {Status::pending, Status::running}, .task = "flow", .limit = 1000}).size();
}

void Outside::send_signals(const Enough& enough) {
  for (const auto& [actor, log] : ledger_.runs()) {
    if (enough()) { return; }
    if (!actor.ends_with("#0") || !signalled_.insert(actor).second) { continue; }
    const std::size_t slash = actor.rfind('/');
    const auto& program = programs_.at(std::stoull(actor.substr(1, actor.find('#') - 1)));
    const bool root = slash == std::string::npos;
    const Op& op = root ? program->root : program->at(std::stoi(actor.substr(slash + 1)));
    const auto handle = app_.find(flow, log.execution);
    int number = 0;
    for (const PlannedSignal& signal : signals_of(op)) {
      try {
        handle.signal(signal.name, signal.payload, "once" + std::to_string(number++));
      } catch (const WrongStatus&) { break; }  // the workflow ended without this signal
    }
  }
}

void Outside::send_cancels(const Enough& enough) {
  while (!cancels_.empty() && cancels_.begin()->first <= Clock::now() && !enough()) {
    const std::string chain = cancels_.begin()->second;
    cancels_.erase(cancels_.begin());
    (void)app_.find(flow, chain).cancel("asked from outside");
    cancelled_.insert(chain);
  }
}

std::vector<Outside::Verdict> Outside::check(const Excuse& excuse) {
  std::vector<Verdict> wrong;
  for (const auto& [seed, program] : programs_) {
    const std::string chain = "p" + std::to_string(seed);
    Observed observed;
    ledger_.observe(chain, observed);
    observed.cancel_asked = cancelled_.contains(chain);
    for (auto& [actor, run] : observed.runs) { look(run); }
    if (excuse) { excuse(*program, observed); }
    auto problems = generated::check(*program, chain, observed);
    if (!problems.empty()) { wrong.push_back({.program = program, .problems = std::move(problems)}); }
  }
  return wrong;
}

void Outside::look(ObservedRun& run) {
  const auto execution = app_.get(run.log.execution);
  if (!execution || !is_terminal(execution->status)) { return; }
  run.status = execution->status;
  run.continued = execution->continued_as.has_value();
  if (execution->status == Status::completed && !run.continued) {
    run.result = app_.find(flow, run.log.execution).result();
  }
}

}  // namespace hapax::generated
