#include "api/execution_read.hpp"
#include "app/operations.hpp"
#include "base/json_out.hpp"
#include "base/limits.hpp"
#include "cli/arguments.hpp"
#include "cli/execution_table.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "cli/retrying.hpp"
#include "cli/short_id.hpp"
#include "cli/show.hpp"

#include <algorithm>
#include <span>

namespace hapax::cli {
namespace {

constexpr const char* dlq_group_examples =
    "An execution that is out of attempts is `failed` and a dead letter of its queue,\n"
    "until it is retried, discarded or past its retention.\n"
    "\n"
    "Examples:\n"
    "  hapax dlq list --queue payments\n"
    "  hapax dlq show 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f\n"
    "  hapax dlq retry --queue payments --yes\n"
    "  hapax dlq annotate --queue payments --note 'asked the bank'\n"
    "  hapax dlq discard 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f";

void dead_only(model::ListQuery& query) { query.dead_only = true; }

// Calls `act` with batches of at most limits::list_page IDs and adds up the results.
template <class Function>
std::int64_t in_batches(const std::vector<Uuid>& ids, Function act) {
  std::int64_t total = 0;
  for (std::size_t at = 0; at < ids.size(); at += limits::list_page) {
    total += act(std::span(ids).subspan(at, std::min<std::size_t>(limits::list_page, ids.size() - at)));
  }
  return total;
}

void print_count(const Shell& shell, const char* verb, std::int64_t count) {
  if (shell.json()) {
    print(JsonObject().number(verb, count).str());
  } else {
    print(plural(count, "dead letter") + " " + verb);
  }
}

std::string find_dead(Shell& shell, const Uuid& id) {
  std::string document = shell.backend().show(id);
  app::require_dead_letter(read_execution(document));
  return document;
}

// The dead letters that retry, discard and annotate act on. A single ID that is not a dead letter throws NotFound;
// among several IDs such an ID is skipped.
std::vector<Uuid> selected_letters(Shell& shell, const Selection& selection, const char* verb) {
  std::vector<Uuid> ids = selected(shell, selection, verb, dead_only);
  if (selection.ids.empty()) { return ids; }
  if (ids.size() == 1) { (void)find_dead(shell, ids.front()); }
  std::erase_if(ids, [&shell](const Uuid& id) { return !read_execution(shell.backend().show(id)).dead; });
  return ids;
}

void add_dlq_list(Commands& commands, CLI::App& group) {
  struct Options {
    Filter filter;
    std::int64_t limit = 50;
    std::optional<std::string> after;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add({"list", "List dead letters, newest first", ""}, &group);
  add_filter(command, options->filter, false);
  command.add_option("--limit", options->limit, "Print at most N")->type_name("N")->capture_default_str();
  command.add_option("--after", options->after, "Continue after this execution")->type_name("ID");
  commands.run_with(command, [options](Shell& shell) {
    Listing listing{.query = options->filter.query(shell), .activity = {}};
    dead_only(listing.query);
    if (options->after) { listing.query.after = find_id(shell, *options->after, Among::dead_letters); }
    if (options->limit < 1) {
      throw InvalidArgument("limit", std::to_string(options->limit) + " is out of range; expected 1 or more");
    }
    print_executions(shell, {.listing = std::move(listing),
                             .limit = options->limit,
                             .when_empty = "no dead letters",
                             .check_empty = [&] { options->filter.require_known(shell); }});
    return static_cast<int>(exit_ok);
  });
}

void add_dlq_show(Commands& commands, CLI::App& group) {
  const auto id = std::make_shared<std::string>();
  CLI::App& command = commands.add({"show", "Show a dead letter with its error history", ""}, &group);
  command.add_option("id", *id, "Execution ID, or its last 12 digits")->type_name("ID")->required();
  commands.run_with(command, [id](Shell& shell) {
    show_execution(shell, find_dead(shell, find_id(shell, *id, Among::dead_letters)));
    return static_cast<int>(exit_ok);
  });
}

void add_dlq_retry(Commands& commands, CLI::App& group) {
  struct Options {
    Selection selection;
    bool new_effect_key = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add({"retry", "Run dead letters again under their identity", ""}, &group);
  add_selection(command, options->selection, false);
  command.add_flag("--new-effect-key", options->new_effect_key, "Use an effect key other than the first run's");
  commands.run_with(command, [options](Shell& shell) {
    const std::vector<Uuid> ids = selected_letters(shell, options->selection, "retry");
    return retry_executions(
        shell, ids, {.options = {.new_effect_key = options->new_effect_key}, .named = !options->selection.ids.empty()});
  });
}

void add_dlq_discard(Commands& commands, CLI::App& group) {
  const auto selection = std::make_shared<Selection>();
  CLI::App& command = commands.add({"discard", "Discard dead letters; their history is kept", ""}, &group);
  add_selection(command, *selection, false);
  commands.run_with(command, [selection](Shell& shell) {
    const std::vector<Uuid> ids = selected_letters(shell, *selection, "discard");
    print_count(shell, "discarded",
                in_batches(ids, [&](std::span<const Uuid> batch) { return shell.backend().discard(batch); }));
    return static_cast<int>(exit_ok);
  });
}

void add_dlq_annotate(Commands& commands, CLI::App& group) {
  struct Options {
    Selection selection;
    std::string note;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add({"annotate", "Attach a note to dead letters", ""}, &group);
  add_selection(command, options->selection, false);
  command.add_option("--note", options->note, "Note; an empty text removes it")->type_name("TEXT")->required();
  commands.run_with(command, [options](Shell& shell) {
    app::Operations::check_note(options->note);
    const std::vector<Uuid> ids = selected_letters(shell, options->selection, "annotate");
    print_count(shell, "annotated", in_batches(ids, [&](std::span<const Uuid> batch) {
                  return shell.backend().annotate(batch, options->note);
                }));
    return static_cast<int>(exit_ok);
  });
}

}  // namespace

void add_dlq(Commands& commands) {
  CLI::App& group = commands.add({"dlq", "List, retry and discard dead letters", dlq_group_examples});
  add_dlq_list(commands, group);
  add_dlq_show(commands, group);
  add_dlq_retry(commands, group);
  add_dlq_discard(commands, group);
  add_dlq_annotate(commands, group);
}

}  // namespace hapax::cli
