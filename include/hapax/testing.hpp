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

// Turns inline mode on or off. In inline mode an enqueue runs the handler on the caller's thread before it returns. A
// failed attempt with a retry delay stays pending until advance() and drain().
void inline_mode(App& app, bool on = true);

struct DrainOptions {
  std::optional<std::string> queue{};  // none: all queues
  // Advances virtual time to the next delayed execution or retry, until nothing is pending.
  bool through_delays = false;
  int limit = 100000;  // runs; one more throws UsageError, because tasks that enqueue each other never end
};

// Counts of the runs that drain() made.
struct DrainReport {
  int completed = 0;
  int failed = 0;   // executions that failed or timed out
  int retried = 0;  // failed attempts that will be retried
  int snoozed = 0;  // also attempts that were released
  int cancelled = 0;
  int waiting = 0;  // times a workflow ran and then waited
};

// Starts due schedules, then runs every due execution that has a handler, one after the other, on this thread, until
// none is due. Ticks passed over by advance() or through_delays are missed ticks. Throws UsageError without handlers.
DrainReport drain(App& app, const DrainOptions& options = {});

// The pending and running executions of a task, oldest first.
[[nodiscard]] std::vector<ExecutionRecord> enqueued(App& app, const std::string& task);

// Thrown by require_enqueued; the message lists the inputs that were found.
class RequirementFailed : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {
void require_enqueued(App& app, const std::string& task, const std::function<bool(const std::string&)>& matches);
}

// Throws RequirementFailed unless `matches` returns true for the input of a pending or running execution of the task.
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
