#include "api/execution_read.hpp"
#include "app/config/queue_keys.hpp"
#include "base/json_out.hpp"
#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "model/retention.hpp"

#include <algorithm>
#include <array>

namespace hapax::cli {
namespace {

constexpr const char* queue_group_examples =
    "A queue is made by the first enqueue, start or worker that names it, by set, and\n"
    "with --create. Any other command fails with NotFound and the nearest name.\n"
    "From a paused queue workers claim nothing. A draining queue accepts nothing new\n"
    "and finishes its executions. resume ends both.\n"
    "\n"
    "set changes limits and retention; workers see the change within two seconds.\n"
    "hapax.toml sets the same values.\n"
    "\n"
    "Examples:\n"
    "  hapax queue list\n"
    "  hapax queue show payments --json\n"
    "  hapax queue pause payments\n"
    "  hapax queue drain payments\n"
    "  hapax queue resume payments\n"
    "  hapax queue purge imports --yes\n"
    "  hapax queue move imports imports-slow\n"
    "  hapax queue set payments --retention 30d --failed-retention 90d\n"
    "  hapax queue set payments --rate-limit 100/sec --concurrency 20";

constexpr const char* set_examples =
    "Changes only the given settings. D is 90s, 15m, 12h, 30d, 2w, 1h30m or 0; R is\n"
    "100/sec, 30/min, 500/hour or 30/min burst 5. Limits hold over all workers of all\n"
    "machines, for executions that start from now on. --failed-retention is for\n"
    "executions that failed, were cancelled or timed out; same: as --retention. Each\n"
    "change has a line in `hapax config audit`.\n"
    "\n"
    "Examples:\n"
    "  hapax queue set payments --rate-limit '100/sec burst 20' --concurrency 50\n"
    "  hapax queue set payments --key-concurrency 1\n"
    "  hapax queue set reports --retention 30d --failed-retention same\n"
    "  hapax queue set reports --dedup-window 90d\n"
    "  hapax queue set payments --rate-limit none --retention default";

std::string state_of(const model::QueueInfo& q) {
  if (q.settings.paused) { return q.settings.draining ? "paused, draining" : "paused"; }
  return q.settings.draining ? "draining" : "open";
}

std::string retention_text(const model::QueueSettings& settings) {
  return format_duration(settings.retention.value_or(model::task_retention));
}

// "100/sec, 20 at once": all limits of a queue on one line; empty when it has none.
std::string limits_text(const model::QueueLimits& limits) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (limits.rate) { add(format_rate_limit(*limits.rate)); }
  if (limits.key_rate) { add(format_rate_limit(*limits.key_rate) + " a key"); }
  if (limits.concurrency) { add(std::to_string(*limits.concurrency) + " at once"); }
  if (limits.worker_concurrency) { add(std::to_string(*limits.worker_concurrency) + " a worker"); }
  if (limits.key_concurrency) { add(std::to_string(*limits.key_concurrency) + " a key at once"); }
  return text;
}

int list_queues(Shell& shell) {
  const std::vector<std::string> queues = shell.backend().queues();
  if (shell.json()) {
    print(json_array(queues));
    return exit_ok;
  }
  Table table({{.title = "QUEUE"},
               {.title = "STATE"},
               {.title = "READY", .numeric = true},
               {.title = "DELAYED", .numeric = true, .narrow = "DELAY"},
               {.title = "PARKED", .numeric = true, .narrow = "PARK"},
               {.title = "RUNNING", .numeric = true, .narrow = "RUN"},
               {.title = "DEAD", .numeric = true},
               {.title = "OLDEST", .numeric = true},
               {.title = "DONE/MIN", .numeric = true, .narrow = "DONE/M"},
               {.title = "FAILED/MIN", .numeric = true, .narrow = "FAIL/M"},
               {.title = "RETENTION", .numeric = true, .folds = true},
               {.title = "LIMITS", .folds = true}});
  for (const std::string& document : queues) {
    const model::QueueInfo q = read_queue(document);
    const std::string state = state_of(q);
    table.add({q.queue.name, Cell(state, state == "open" ? Style::plain : Style::warn), std::to_string(q.ready),
               std::to_string(q.delayed), std::to_string(q.parked), std::to_string(q.running),
               Cell(std::to_string(q.dead), q.dead > 0 ? Style::bad : Style::plain),
               q.oldest_ready ? rough(*q.oldest_ready) : "", std::to_string(q.completed_last_minute),
               std::to_string(q.failed_last_minute), retention_text(q.settings), limits_text(q.settings.limits)});
  }
  table.print("no queues");
  return exit_ok;
}

int show_queue(const Shell& shell, const std::string& document) {
  if (shell.json()) {
    print(document);
    return exit_ok;
  }
  const model::QueueInfo q = read_queue(document);
  Facts facts;
  facts.add("queue", q.queue.name, Style::bold);
  facts.add("state", state_of(q));
  facts.add("ready", std::to_string(q.ready) + (q.oldest_ready ? ", the oldest since " + rough(*q.oldest_ready) : ""));
  facts.add("delayed", std::to_string(q.delayed));
  if (q.parked > 0) { facts.add("parked", std::to_string(q.parked) + ", behind others of their key"); }
  facts.add("running", std::to_string(q.running));
  facts.add("dead letters", std::to_string(q.dead));
  facts.add("last minute", std::to_string(q.completed_last_minute) + " completed, " +
                               std::to_string(q.failed_last_minute) + " failed");
  facts.add("retention",
            retention_text(q.settings) + (q.settings.retention ? "" : " (default)") +
                (q.settings.failed_retention ? ", failed " + format_duration(*q.settings.failed_retention) : ""));
  if (q.settings.dedup_window) {
    facts.add("dedup window", format_duration(*q.settings.dedup_window) + " after the end");
  }
  facts.add_if("limits", limits_text(q.settings.limits));
  facts.print();
  return exit_ok;
}

void add_change(Commands& commands, CLI::App& group, const Description& description, QueueAct act) {
  struct Options {
    std::string queue;
    bool create = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add(description, &group);
  command.add_option("queue", options->queue, "Name of the queue")->type_name("Q")->required();
  if (act != QueueAct::resume) { command.add_flag("--create", options->create, "Make the queue if it does not exist"); }
  commands.run_with(command, [options, act](Shell& shell) {
    if (options->create) { shell.when_store_is_missing(MissingStore::make); }
    return show_queue(
        shell, shell.backend().act_on_queue(options->queue, act, options->create ? Absent::make : Absent::refuse));
  });
}

int queue_print_count(const Shell& shell, const char* verb, std::int64_t count) {
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
  CLI::App& command = commands.add({"purge", "Cancel all pending executions of a queue", ""}, &group);
  command.add_option("queue", options->queue, "Name of the queue")->type_name("Q")->required();
  command.add_flag("--yes", options->yes, "Purge without asking for confirmation");
  commands.run_with(command, [options](Shell& shell) {
    const model::QueueRef queue = shell.queue(options->queue);
    if (!options->yes && !confirmed(shell, "cancel everything pending in queue '" + queue.name + "'")) {
      return static_cast<int>(exit_ok);
    }
    const Purged purged = shell.backend().purge(queue.name);
    if (shell.json()) {
      print(JsonObject().number("purged", purged.cancelled).number("requested", purged.requested).str());
    } else {
      print(plural(purged.cancelled, "execution") + " purged" +
            (purged.requested > 0 ? ", " + plural(purged.requested, "workflow") + " asked to end" : ""));
    }
    return static_cast<int>(exit_ok);
  });
}

void add_move(Commands& commands, CLI::App& group) {
  struct Options {
    MoveRequest request;
    bool create = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add({"move", "Move a queue's pending executions to another", ""}, &group);
  command.add_option("from", options->request.from, "Queue to move from")->type_name("FROM")->required();
  command.add_option("to", options->request.to, "Queue to move to")->type_name("TO")->required();
  command.add_flag("--create", options->create, "Make the queue TO if it does not exist");
  command.add_option("--limit", options->request.limit, "Move at most N (default: all)")->type_name("N");
  commands.run_with(command, [options](Shell& shell) {
    MoveRequest request = options->request;
    app::check_move(shell.queue(request.from), {.to = shell.queue(request.to), .limit = request.limit});
    if (options->create) { request.target = Absent::make; }
    return queue_print_count(shell, "moved", shell.backend().move(request));
  });
}

// The flag of a key: rate_limit is --rate-limit.
std::string flag_of(const config::QueueKey& key) {
  std::string flag = "--" + std::string(key.name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

struct SetFlag {
  std::string_view key;
  const char* type;
  const char* help;
};

constexpr std::array set_flags = {
    SetFlag{"retention", "D|default", "Keep ended executions for: 30d, 12h, 0"},
    SetFlag{"failed_retention", "D|same", "Keep failed, cancelled and timed-out ones for"},
    SetFlag{"dedup_window", "D|none", "Hold keys at least D after the end"},
    SetFlag{"rate_limit", "R|none", "Starts over all workers, such as 100/sec"},
    SetFlag{"key_rate_limit", "R|none", "Starts of one concurrency or ordering key"},
    SetFlag{"concurrency", "N|none", "Running at once over all workers"},
    SetFlag{"worker_concurrency", "N|none", "Running at once on one worker"},
    SetFlag{"key_concurrency", "N|none", "Running at once per key; none means 1"},
};

void add_set(Commands& commands, CLI::App& group) {
  struct Options {
    std::string queue;
    std::array<std::optional<std::string>, set_flags.size()> values;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add({"set", "Change a queue's retention and limits", set_examples}, &group);
  command.add_option("queue", options->queue, "Name of the queue")->type_name("Q")->required();
  for (std::size_t i = 0; i < set_flags.size(); ++i) {
    const config::QueueKey* key = config::find_queue_key(set_flags[i].key);
    command.add_option(flag_of(*key), options->values[i], set_flags[i].help)->type_name(set_flags[i].type);
  }
  commands.run_with(command, [options](Shell& shell) {
    QueueValues values;
    model::QueuePatch checked;
    for (std::size_t i = 0; i < set_flags.size(); ++i) {
      if (!options->values[i]) { continue; }
      config::set_queue_value(checked, *config::find_queue_key(set_flags[i].key), *options->values[i],
                              set_flags[i].key);
      values.emplace_back(set_flags[i].key, *options->values[i]);
    }
    if (values.empty()) {
      throw BadUsage("nothing to set: give --retention, --rate-limit or another (hapax queue set --help)");
    }
    shell.when_store_is_missing(MissingStore::make);
    return show_queue(shell, shell.backend().set_queue(options->queue, values));
  });
}

}  // namespace

void add_queue(Commands& commands) {
  CLI::App& group = commands.add({"queue", "List, pause, drain, purge and change queues", queue_group_examples});
  CLI::App& list = commands.add({"list", "List the namespace's queues", ""}, &group);
  commands.run_with(list, list_queues);
  const auto shown = std::make_shared<std::string>();
  CLI::App& show = commands.add({"show", "Show one queue", ""}, &group);
  show.add_option("queue", *shown, "Name of the queue")->type_name("Q")->required();
  commands.run_with(show, [shown](Shell& shell) { return show_queue(shell, shell.backend().queue(*shown)); });
  add_change(commands, group, {"pause", "Stop workers from claiming from a queue", ""}, QueueAct::pause);
  add_change(commands, group, {"resume", "End a pause or a drain of a queue", ""}, QueueAct::resume);
  add_change(commands, group, {"drain", "Accept nothing new, finish what a queue has", ""}, QueueAct::drain);
  add_purge(commands, group);
  add_move(commands, group);
  add_set(commands, group);
}

}  // namespace hapax::cli
