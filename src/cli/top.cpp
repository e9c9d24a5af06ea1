#include "cli/top.hpp"

#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/signals.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

namespace hapax::cli {
namespace {

constexpr const char* top_examples =
    "Shows queues, workers and the newest failures, refreshed every --interval. Keys:\n"
    "q quit, p pause, s order of the queues, arrows select, space refresh now,\n"
    "+ and - refresh more or less often, h help.\n"
    "\n"
    "Without a terminal, and with --once, snapshots are printed one after the other.\n"
    "With --json each snapshot is a line: {\"at\",\"namespace\",\"queues\":[…],\n"
    "\"sessions\":[{\"id\",\"worker\",\"host\",\"pid\",\"build\",\"queues\",\"tasks\",\"running\",\n"
    "\"started_at\",\"expires_at\"}],\n"
    "\"failures\":[{\"id\",\"task\",\"queue\",\"status\",\"attempt\",\"finished_at\",\"error\"}]}.\n"
    "\n"
    "Examples:\n"
    "  hapax top\n"
    "  hapax top --interval 500ms\n"
    "  hapax top --once\n"
    "  hapax top --json --interval 10s | jq -c '.queues[] | {queue, ready}'";

constexpr Duration least_interval = std::chrono::milliseconds(100);
constexpr Duration longest_interval = std::chrono::hours(24);

struct TopOptions {
  std::string interval = "2s";
  bool once = false;
};

// Prints one snapshot after the other, until a signal.
int stream(Shell& shell, Duration interval, bool once) {
  StopSignals signals;
  Backend& backend = shell.backend();
  while (true) {
    if (shell.json()) {
      print(backend.overview());
    } else {
      const TopSnapshot snapshot = take_snapshot(backend);
      TopView view;
      // Without a terminal nothing is cut.
      view.columns = output_terminal().is_tty ? static_cast<std::size_t>(output_terminal().columns) : SIZE_MAX / 2;
      for (const std::string& line : snapshot_lines(snapshot, view)) { print(line); }
      if (!once) { print(""); }
    }
    // Flushed at once for the reader of a pipe. A reader that is gone (`| head -1`) is no error.
    if (std::fflush(stdout) != 0 && errno == EPIPE) { _exit(exit_ok); }
    if (once || std::ferror(stdout) != 0) { return exit_ok; }
    const auto pause = std::chrono::ceil<std::chrono::milliseconds>(interval);
    if (signals.wait(pause) == StopSignals::Event::stop) { return exit_ok; }
  }
}

int run_top(Shell& shell, const TopOptions& options) {
  const Duration interval = parse_duration(options.interval, "interval");
  if (interval < least_interval || interval > longest_interval) {
    throw InvalidArgument("interval", format_duration(interval) + " is out of range; expected " +
                                          format_duration(least_interval) + " to " + format_duration(longest_interval));
  }
  const bool live = !options.once && !shell.json() && isatty(STDIN_FILENO) == 1 && output_terminal().is_tty;
  return live ? show_live(shell, interval) : stream(shell, interval, options.once);
}

}  // namespace

void add_top(Commands& commands) {
  const auto options = std::make_shared<TopOptions>();
  CLI::App& command = commands.add({"top", "Watch queues, workers and failures", top_examples});
  command.add_option("--interval", options->interval, "Time between two refreshes")
      ->type_name("D")
      ->capture_default_str();
  command.add_flag("--once", options->once, "Print one snapshot and exit");
  commands.run_with(command, [options](Shell& shell) { return run_top(shell, *options); });
}

}  // namespace hapax::cli
