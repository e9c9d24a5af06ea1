#include "base/json_out.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/progress.hpp"
#include "cli/render.hpp"

namespace hapax::cli {
namespace {

constexpr const char* cleanup_examples =
    "Does now what workers do in the background: deletes ended executions past their\n"
    "retention, requeues executions of dead workers, and times out executions past\n"
    "their deadline. Other pending and running executions are never touched. Cleans\n"
    "the whole store, all namespaces.\n"
    "\n"
    "Example:\n"
    "  hapax cleanup --json\n"
    "\n"
    "With --json:\n"
    "{\"expired\",\"lost_sessions\",\"requeued\",\"dead\",\"timed_out\",\"bad_rows\"}.";

int run(Shell& shell) {
  model::SweepReport total;
  ProgressLine progress(shell);
  bool more = true;
  while (more) {
    const model::SweepReport report = shell.store().sweep({.retention = true});
    total.lost_sessions += report.lost_sessions;
    total.requeued += report.requeued;
    total.dead += report.dead;
    total.timed_out += report.timed_out;
    total.expired += report.expired;
    total.bad = report.bad;
    total.first_error = report.first_error;
    if (!report.failure.empty()) { throw StoreUnavailable("the sweep failed: " + report.failure); }
    more = report.more;
    progress.show(plural(total.expired, "expired execution") + " deleted");
  }
  progress.clear();
  if (total.bad > 0) {
    progress.remark(plural(total.bad, "row") +
                    " left that cannot be read or changed; the first error: " + total.first_error);
  }
  if (shell.json()) {
    JsonObject object;
    object.number("expired", std::int64_t{total.expired}).number("lost_sessions", std::int64_t{total.lost_sessions});
    object.number("requeued", std::int64_t{total.requeued}).number("dead", std::int64_t{total.dead});
    print(object.number("timed_out", std::int64_t{total.timed_out}).number("bad_rows", std::int64_t{total.bad}).str());
  } else {
    print(plural(total.expired, "expired execution") + " deleted, " + std::to_string(total.requeued) +
          " requeued from " + plural(total.lost_sessions, "lost worker") + ", " + std::to_string(total.dead) +
          " lost too often, " + std::to_string(total.timed_out) + " timed out");
  }
  return exit_ok;
}

}  // namespace

void add_cleanup(Commands& commands) {
  CLI::App& command = commands.add({"cleanup", "Delete executions past their retention now", cleanup_examples});
  commands.run_with(command, run);
}

}  // namespace hapax::cli
