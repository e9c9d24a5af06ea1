#include "workflow/support.hpp"
#include "store/store.hpp"

#include <hapax/error.hpp>

#include "engine/outcome.hpp"
#include "model/question.hpp"
#include "model/unreadable.hpp"
#include "workflow/lanes.hpp"
#include "workflow/question.hpp"

#include <mutex>
#include <utility>

namespace hapax::workflow {

namespace {

using detail::WorkflowRun;
using Need = WorkflowRun::Need;

// Runs one turn of one run on the calling thread, without a lane.
class InlineTurn {
 public:
  InlineTurn(Host& app, WorkflowRun& run) : app_(app), run_(run) {}

  model::Finish go() {
    load();
    try {
      return turn();
    } catch (...) {
      // The store is away, so the function is unwound, and the next claim resumes it from the journal.
      (void)run_.unwind();
      throw;
    }
  }

 private:
  model::Finish turn() {
    while (true) {
      switch (run_.resume()) {
        case Need::step:
        case Need::transaction:
          if (!flush()) { return put_aside(); }
          run_.run_step_or_transaction();
          if (!run_.store_trouble().empty()) {
            (void)run_.unwind();
            return run_.leave_finish(false);
          }
          continue;
        case Need::wait: {
          model::Finish finish = run_.wait_finish();
          (void)run_.unwind();
          return finish;
        }
        case Need::ended: return end();
        case Need::unwound:
        case Need::stuck:
          (void)run_.unwind();
          return run_.stuck_reason().empty() ? engine::release_finish(*run_.run()) : run_.wait_finish();
      }
    }
  }

  void load() {
    const model::HistoryRequest request{.execution = run_.claim().id};
    auto history = app_.store().histories({&request, 1});
    model::check_readable(history.front());
    run_.replay().load(std::move(history.front().entries), std::move(history.front().events));
  }

  bool flush() {
    if (!run_.replay().needs_flush()) { return true; }
    const model::Advance turn{.execution = run_.claim().id,
                              .fence = run_.claim().fence,
                              .entries = run_.replay().fresh(),
                              .clears_lost = run_.claim().lost > 0};
    const model::AdvanceReply reply = app_.store().advance({&turn, 1}).front();
    if (reply.verdict != model::FinishVerdict::accepted) { return false; }
    run_.replay().kept(reply.at);
    return true;
  }

  model::Finish end() {
    const auto children = run_.children_to_cancel();
    if (!children.empty() && !run_.is_continued()) {
      if (!flush()) { return put_aside(); }
      workflow::cancel_children(app_.store(), run_.claim(), children);
    }
    return run_.finish();
  }

  model::Finish put_aside() {
    (void)run_.unwind();
    return engine::release_finish(*run_.run());
  }

  Host& app_;
  WorkflowRun& run_;
};

}  // namespace

void Support::add(const std::string& name, Function function) {
  auto its = std::make_shared<const Function>(std::move(function));
  auto answers = std::make_shared<const Function>(answering(app_));
  const std::unique_lock lock(mutex_);
  if (functions_.contains(name)) { throw UsageError("workflow '" + name + "' has a function already"); }
  functions_.emplace(model::question_name(name), std::move(answers));
  functions_.emplace(name, std::move(its));
}

std::shared_ptr<const Function> Support::find(const std::string& name) const {
  const std::shared_lock lock(mutex_);
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second;
}

std::vector<std::string> Support::names() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, function] : functions_) {
    if (!model::is_question(name)) { names.push_back(name); }
  }
  return names;
}

std::vector<std::string> Support::questions() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, function] : functions_) {
    if (model::is_question(name)) { names.push_back(name); }
  }
  return names;
}

std::shared_ptr<base::StackPool> Support::stacks() const {
  const std::shared_lock lock(mutex_);
  return stacks_;
}

std::shared_ptr<engine::WorkflowPool> Support::make_pool(PoolOptions options) {
  const auto self = app_.lock()->support();
  {
    // A query replays a run on a stack as large as the largest of any worker.
    const std::unique_lock lock(mutex_);
    if (options.stack_bytes > stack_) {
      stack_ = options.stack_bytes;
      stacks_ = std::make_shared<base::StackPool>(stack_);
    }
  }
  return std::make_shared<Lanes>(Lanes::Options{.app = app_.lock(),
                                                .find = [self](const std::string& name) { return self->find(name); },
                                                .names = [self] { return self->names(); },
                                                .questions = [self] { return self->questions(); },
                                                .threads = options.threads,
                                                .cached = options.cached,
                                                .stack_bytes = options.stack_bytes,
                                                .build = std::move(options.build),
                                                .on_trouble = std::move(options.on_trouble)});
}

model::Finish Support::run_here(const engine::RunPtr& run) {
  const auto app = app_.lock();
  const auto function = find(run->claim().task);
  if (!function) { return engine::release_finish(*run); }
  const auto state = std::make_shared<WorkflowRun>(
      WorkflowRun::Options{.app = app, .run = run, .function = function, .stacks = stacks(), .build = ""});
  return InlineTurn(*app, *state).go();
}

Support::Replayed Support::replay_to_end(model::Claim claim, model::History history,
                                         const std::function<void(WorkflowRun&)>& then) {
  const auto function = find(claim.task);
  if (!function) { throw NotFound("this process has no function for workflow '" + claim.task + "'"); }
  const base::AlternateStack alternate;
  auto run = std::make_shared<engine::Run>(std::move(claim));
  const auto state = std::make_shared<WorkflowRun>(WorkflowRun::Options{
      .app = app_.lock(), .run = std::move(run), .function = function, .stacks = stacks(), .build = ""});
  state->replay().load(std::move(history.entries), std::move(history.events));
  Replayed replayed{.need = state->resume(), .stuck = state->stuck_reason()};
  try {
    if (then) { then(*state); }
  } catch (...) {
    // The suspended function and the run own each other, so the function is unwound.
    (void)state->unwind();
    throw;
  }
  (void)state->unwind();
  return replayed;
}

}  // namespace hapax::workflow
