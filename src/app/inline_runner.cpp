#include "app/inline_runner.hpp"

#include "base/uuid7.hpp"
#include "engine/outcome.hpp"
#include "engine/step_thread.hpp"

#include <exception>

namespace hapax::app {

InlineRunner::InlineRunner(store::Store& store, Options options, engine::Handler handler,
                           std::function<model::Finish(const engine::RunPtr&)> workflow)
    : store_(store),
      options_(std::move(options)),
      handler_(std::move(handler)),
      workflow_(std::move(workflow)),
      session_(base::new_uuid7()) {
  model::NewSession description;
  description.id = session_;
  description.worker = "inline";
  description.lease = options_.lease;
  description.queues = options_.queues;
  description.tasks = options_.tasks;
  store_.open_session(description);
}

InlineRunner::~InlineRunner() {
  try {
    store_.close_session(session_);
  } catch (const std::exception&) {
    // The session now ends when its lease is over.
    return;
  }
}

std::optional<model::Finish> InlineRunner::run_one() {
  model::ClaimRequest request;
  request.session = session_;
  request.claim_number = ++claim_number_;
  request.queues = options_.queues;
  request.tasks = options_.tasks;
  model::ClaimReply reply = store_.claim(request);
  next_due_ = reply.next_due;
  if (reply.claims.empty()) { return std::nullopt; }
  const engine::RunPtr shared = std::make_shared<engine::Run>(std::move(reply.claims.front()));
  engine::Run& run = *shared;
  run.received = engine::engine_now();
  (void)run.start(run.received);
  if (run.claim().kind == model::Kind::workflow && workflow_) {
    model::Finish turn = workflow_(shared);
    (void)store_.finish(std::span<const model::Finish>(&turn, 1));
    return turn;
  }
  engine::Ending ending = engine::run_handler(handler_, run);
  // The middle of the jitter's range, so that tests see the same delays every time.
  auto finish = engine::to_finish(run, std::move(ending), {.ran_for = Duration::zero(), .jitter = 0.5});
  if (!finish) {
    finish.emplace();
    finish->id = run.claim().id;
    finish->fence = run.claim().fence;
    return finish;
  }
  (void)store_.finish(std::span<const model::Finish>(&*finish, 1));
  return finish;
}

}  // namespace hapax::app
