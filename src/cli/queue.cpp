#include "base/limits.hpp"
#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "model/validate.hpp"

#include <algorithm>

namespace hapax::cli {
namespace {

constexpr const char* group_examples =
    "A queue is made on first use. paused: workers claim nothing from it. draining: it takes nothing new and finishes "
    "what\n"
    "it has. resume ends both.\n"
    "\n"
    "Examples:\n"
    "  hapax queue list\n"
    "  hapax queue pause payments\n"
    "  hapax queue drain payments\n"
    "  hapax queue purge imports --yes          # cancels what is pending\n"
    "  hapax queue move imports imports-slow\n"
    "  hapax queue set payments --retention 30d --failed-retention 90d";

std::string state_of(const model::QueueInfo& q) {
  if (q.settings.paused) { return q.settings.draining ? "paused, draining" : "paused"; }
  return q.settings.draining ? "draining" : "open";
}

int list_queues(Shell& shell) {
  const std::vector<model::QueueInfo> queues = shell.store().queues(shell.ns());
  if (shell.json()) {
    std::vector<std::string> items;
    for (const model::QueueInfo& q : queues) { items.push_back(queue_json(q)); }
    print(json_array(items));
    return exit_ok;
  }
  Table table({{.title = "QUEUE"},
               {.title = "STATE"},
               {.title = "READY", .numeric = true},
               {.title = "DELAYED", .numeric = true},
               {.title = "RUNNING", .numeric = true},
               {.title = "DEAD", .numeric = true},
               {.title = "OLDEST", .numeric = true},
               {.title = "DONE/MIN", .numeric = true},
               {.title = "FAILED/MIN", .numeric = true},
               {.title = "RETENTION", .numeric = true}});
  for (const model::QueueInfo& q : queues) {
    const std::string state = state_of(q);
    table.add({q.queue.name, Cell(state, state == "open" ? Style::plain : Style::warn), std::to_string(q.ready),
               std::to_string(q.delayed), std::to_string(q.running),
               Cell(std::to_string(q.dead), q.dead > 0 ? Style::bad : Style::plain),
               q.oldest_ready ? rough(*q.oldest_ready) : "", std::to_string(q.completed_last_minute),
               std::to_string(q.failed_last_minute), format_duration(q.settings.retention)});
  }
  table.print("no queues");
  return exit_ok;
}

int show_queue(Shell& shell, const std::string& name) {
  const model::QueueRef ref = shell.queue(name);
  for (const model::QueueInfo& q : shell.store().queues(shell.ns())) {
    if (q.queue != ref) { continue; }
    if (shell.json()) {
      print(queue_json(q));
      return exit_ok;
    }
    Facts facts;
    facts.add("queue", q.queue.name, Style::bold);
    facts.add("state", state_of(q));
    facts.add("ready",
              std::to_string(q.ready) + (q.oldest_ready ? ", the oldest since " + rough(*q.oldest_ready) : ""));
    facts.add("delayed", std::to_string(q.delayed));
    facts.add("running", std::to_string(q.running));
    facts.add("dead letters", std::to_string(q.dead));
    facts.add("last minute", std::to_string(q.completed_last_minute) + " completed, " +
                                 std::to_string(q.failed_last_minute) + " failed");
    facts.add("retention",
              format_duration(q.settings.retention) +
                  (q.settings.failed_retention ? ", failed " + format_duration(*q.settings.failed_retention) : ""));
    facts.print();
    return exit_ok;
  }
  throw NotFound("no queue '" + name + "' in namespace '" + shell.ns() + "'");
}

// Changes a queue and shows it.
int configure(Shell& shell, const std::string& name, const model::QueuePatch& patch) {
  const model::QueueRef ref = shell.queue(name);
  shell.store().configure_queue(ref, patch);
  shell.store().announce({&ref, 1});
  return show_queue(shell, name);
}

void add_change(Commands& commands, CLI::App& group, const Description& description, const model::QueuePatch& patch) {
  const auto name = std::make_shared<std::string>();
  CLI::App& command = commands.add(description, &group);
  command.add_option("queue", *name, "Queue")->type_name("Q")->required();
  commands.run_with(command, [name, patch](Shell& shell) { return configure(shell, *name, patch); });
}

int print_count(const Shell& shell, const char* verb, std::int64_t count) {
  if (shell.json()) {
    print(JsonObject().number(verb, count).str());
  } else {
    print(plural(count, "execution") + " " + verb);
  }
  return exit_ok;
}

void add_purge(Commands& commands, CLI::App& group) {
  struct Options {
    std::string queue;
    bool yes = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add({"purge", "Cancel everything pending in a queue", ""}, &group);
  command.add_option("queue", options->queue, "Queue")->type_name("Q")->required();
  command.add_flag("--yes", options->yes, "Do not ask (needed when not on a terminal)");
  commands.run_with(command, [options](Shell& shell) {
    const model::QueueRef queue = shell.queue(options->queue);
    if (!options->yes && !confirmed("cancel everything pending in queue '" + queue.name + "'")) {
      return static_cast<int>(exit_ok);
    }
    std::int64_t total = 0;
    while (const int purged = shell.store().purge(queue, limits::sweep_batch)) { total += purged; }
    return print_count(shell, "purged", total);
  });
}

void add_move(Commands& commands, CLI::App& group) {
  struct Options {
    std::string from;
    std::string to;
    std::int64_t limit = INT64_MAX;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add({"move", "Move what is pending in a queue to another", ""}, &group);
  command.add_option("from", options->from, "Queue to move from")->type_name("FROM")->required();
  command.add_option("to", options->to, "Queue to move to")->type_name("TO")->required();
  command.add_option("--limit", options->limit, "At most so many (default: all)")->type_name("N");
  commands.run_with(command, [options](Shell& shell) {
    const model::QueueRef from = shell.queue(options->from);
    const model::QueueRef to = shell.queue(options->to);
    if (from == to) { throw InvalidArgument("to", "is the queue to move from; expected another"); }
    std::int64_t total = 0;
    while (total < options->limit) {
      const int batch = static_cast<int>(std::min<std::int64_t>(limits::sweep_batch, options->limit - total));
      const int moved = shell.store().move(from, to, batch);
      if (moved == 0) { break; }
      total += moved;
    }
    shell.store().announce({&to, 1});
    return print_count(shell, "moved", total);
  });
}

void add_set(Commands& commands, CLI::App& group) {
  struct Options {
    std::string queue;
    std::optional<std::string> retention;
    std::optional<std::string> failed_retention;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add({"set", "Change how long a queue keeps what has ended", ""}, &group);
  command.add_option("queue", options->queue, "Queue")->type_name("Q")->required();
  command.add_option("--retention", options->retention, "Kept for: 30d, 12h, 0 (for what ends from now on)")
      ->type_name("D");
  command
      .add_option("--failed-retention", options->failed_retention,
                  "For what failed, was cancelled or timed out; \"same\": as --retention")
      ->type_name("D|same");
  commands.run_with(command, [options](Shell& shell) {
    model::QueuePatch patch;
    patch.retention = optional_duration(options->retention, "retention");
    if (options->failed_retention == "same") {
      patch.failed_retention = std::optional<Duration>();
    } else if (options->failed_retention) {
      patch.failed_retention = parse_duration(*options->failed_retention, "failed_retention");
    }
    if (!patch.retention && !patch.failed_retention) {
      throw BadUsage("nothing to set: give --retention or --failed-retention");
    }
    model::check_queue_patch(patch);
    return configure(shell, options->queue, patch);
  });
}

}  // namespace

void add_queue(Commands& commands) {
  CLI::App& group =
      commands.add({"queue", "Queues: list, show, pause, resume, drain, purge, move, set", group_examples});
  CLI::App& list = commands.add({"list", "All queues of the namespace", ""}, &group);
  commands.run_with(list, list_queues);
  const auto shown = std::make_shared<std::string>();
  CLI::App& show = commands.add({"show", "One queue", ""}, &group);
  show.add_option("queue", *shown, "Queue")->type_name("Q")->required();
  commands.run_with(show, [shown](Shell& shell) { return show_queue(shell, *shown); });
  add_change(commands, group, {"pause", "Workers claim nothing from it", ""}, {.paused = true});
  add_change(commands, group, {"resume", "Ends pause and drain", ""}, {.paused = false, .draining = false});
  add_change(commands, group, {"drain", "Takes nothing new, finishes what it has", ""}, {.draining = true});
  add_purge(commands, group);
  add_move(commands, group);
  add_set(commands, group);
}

}  // namespace hapax::cli
