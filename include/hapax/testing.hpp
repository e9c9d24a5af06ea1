// Testing kit: run a program's tasks in its tests without workers, threads or waiting.
//
//   auto app = hapax::testing::open();                   // memory, virtual time
//   app.handle(welcome, …);
//   sign_up(app, "ada");                                  // the code under test enqueues
//   hapax::testing::require_enqueued(app, welcome, [](const Mail& mail) { return mail.to == "ada"; });
//   hapax::testing::drain(app);                           // runs what is due, here, on this thread
//   hapax::testing::advance(app, 24h);                    // what was delayed is due now
//   hapax::testing::drain(app);
#pragma once

#include <hapax/app.hpp>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace hapax::testing {

// An app on a memory store whose clock moves only by advance().
[[nodiscard]] App open(const OpenOptions& options = {});

// Moves the clock of an app made by testing::open(). Throws UsageError for any other.
void advance(App& app, Duration by);

// From now on (or no longer) an enqueue runs the handler at once, on the caller's thread, before it returns. A failed
// attempt that has a retry delay stays pending until advance() and drain().
void inline_mode(App& app, bool on = true);

struct DrainOptions {
  std::optional<std::string> queue{};  // none: all queues
  // Moves virtual time on to whatever is delayed or waits for a retry, until nothing is pending.
  bool through_delays = false;
  int limit = 100000;  // runs; more throws UsageError, as tasks that enqueue each other never end
};

struct DrainReport {
  int completed = 0;
  int failed = 0;   // dead letters
  int retried = 0;  // failed attempts, to be tried again
  int snoozed = 0;
  int cancelled = 0;
  int waiting = 0;  // turns of workflows that ended in a wait
};

// Starts what schedules are due for (ticks that advance() or through_delays left behind are missed ones), and runs everything that is due and has a handler, one after the other, on this thread, until nothing is.
DrainReport drain(App& app, const DrainOptions& options = {});

// What a task's pending and running executions are, oldest first.
[[nodiscard]] std::vector<ExecutionRecord> enqueued(App& app, const std::string& task);

// Thrown by require_enqueued; its text lists what there is.
class RequirementFailed : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {
void require_enqueued(App& app, const std::string& task, const std::function<bool(const std::string&)>& matches);
}

// Throws RequirementFailed unless a pending or running execution of the task has an input that `matches` likes.
template <class In, class Out, class Matches>
void require_enqueued(App& app, const Task<In, Out>& task, Matches matches) {
  detail::require_enqueued(app, task.name(),
                           [&](const std::string& json) { return matches(hapax::detail::decode<In>(json, "input")); });
}
template <class In, class Out>
void require_enqueued(App& app, const Task<In, Out>& task) {
  detail::require_enqueued(app, task.name(), [](const std::string&) { return true; });
}

}  // namespace hapax::testing
