#include "api/routes/waiting.hpp"

#include <hapax/error.hpp>

#include "engine/step_thread.hpp"
#include "engine/waiters.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>

namespace hapax::api {

namespace {

// The call shares a Watch with the callback, which may run after the call has ended its wait.
struct Watch {
  http::Signal signal;
  std::mutex mutex;
  bool answered = false;  // guarded by mutex, like the members below
  std::optional<model::Outcome> outcome;
  std::exception_ptr error;
};

// Waits until the outcome comes, the time runs out or the client leaves. `leave` ends a watch without an outcome; a
// caller whose access was revoked gets an exception.
void wait_for(http::Call& call, Watch& watch, Time until, const std::function<void()>& leave) {
  http::Woke woke = http::Woke::time_over;
  try {
    while (woke == http::Woke::time_over) {
      const Duration left = until - engine::engine_now();
      if (left <= Duration::zero()) { break; }
      woke = call.wait_on(watch.signal, std::min(left, http::Call::recheck_every));
      if (woke == http::Woke::time_over || woke == http::Woke::raised) { call.recheck_access(); }
    }
  } catch (...) {
    leave();
    throw;
  }
  if (woke != http::Woke::raised) { leave(); }
}

}  // namespace

Duration checked_wait(Duration wait, std::string_view field) {
  if (wait <= longest_poll) { return wait; }
  throw InvalidArgument(std::string(field), format_duration(wait) + " is too long; expected at most " +
                                                format_duration(longest_poll) + ", and to be asked again after it");
}

std::optional<model::Outcome> wait_for_outcome(http::Call& call, engine::Engine& engine, const Uuid& first,
                                               Duration at_most) {
  const Time until = engine::engine_now() + std::min(at_most, longest_poll);
  Uuid id = first;
  while (true) {
    const Duration left = until - engine::engine_now();
    if (left <= Duration::zero()) { return std::nullopt; }
    const auto watch = std::make_shared<Watch>();
    const engine::Waiters::Token token = engine.waiters().watch(
        id,
        [watch](const model::Outcome* outcome, std::exception_ptr error) {
          {
            const std::lock_guard lock(watch->mutex);
            watch->answered = true;
            if (outcome != nullptr) { watch->outcome = *outcome; }
            watch->error = std::move(error);
          }
          watch->signal.raise();
        },
        false, left);
    wait_for(call, *watch, until, [&] { (void)engine.waiters().unwatch(id, token); });
    std::optional<model::Outcome> outcome;
    {
      const std::lock_guard lock(watch->mutex);
      if (watch->error) { std::rethrow_exception(watch->error); }
      outcome = std::move(watch->outcome);
    }
    if (!outcome) { return std::nullopt; }
    if (!outcome->continued_as) { return outcome; }
    id = *outcome->continued_as;
  }
}

}  // namespace hapax::api
