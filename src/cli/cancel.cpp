#include "api/execution_read.hpp"
#include "app/operations.hpp"
#include "base/json_out.hpp"
#include "base/json_view.hpp"
#include "base/limits.hpp"
#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"

#include <algorithm>
#include <span>

namespace hapax::cli {
namespace {

constexpr const char* cancel_examples =
    "Pending executions end at once. Running executions are asked to stop (a program\n"
    "gets SIGTERM, then SIGKILL) and end as cancelled.\n"
    "With --json: {\"cancelled\",\"requested\",\"finished\",\n"
    "\"executions\":[{\"id\",\"verdict\",\"status\"}]}.\n"
    "\n"
    "Examples:\n"
    "  hapax cancel 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f --reason 'ordered twice'\n"
    "  hapax cancel --queue imports --status pending --yes\n"
    "\n"
    "Exit codes: 0 done; 3 an execution named by ID had ended already; 66 no such\n"
    "execution.";

struct CancelOptions {
  Selection selection;
  std::string reason = "cancelled from the command line";
};

struct Tally {
  std::int64_t cancelled = 0;
  std::int64_t requested = 0;
  std::int64_t finished = 0;
  std::vector<std::string> items;

  void add(const std::string& document) {
    const JsonView view(document);
    cancelled += view.integer("cancelled");
    requested += view.integer("requested");
    finished += view.integer("finished");
    for (const std::string_view item : view.items("executions")) { items.emplace_back(item); }
  }
};

int run_cancel(Shell& shell, const CancelOptions& options) {
  const std::vector<Uuid> ids = selected(shell, options.selection, "cancel", app::select_unfinished);
  Tally tally;
  for (std::size_t at = 0; at < ids.size(); at += limits::list_page) {
    const std::size_t count = std::min<std::size_t>(limits::list_page, ids.size() - at);
    tally.add(shell.backend().cancel(std::span(ids).subspan(at, count), options.reason));
  }
  // A single execution that was named by ID and had ended is an error. Among several IDs, or by filter, such an
  // execution is only counted.
  if (ids.size() == 1 && tally.finished == 1 && !options.selection.ids.empty()) {
    app::throw_cancel_refusal(ids.front(), {.verdict = model::CancelVerdict::finished,
                                            .status = require_status(JsonView(tally.items.front()).text("status"))});
  }
  if (shell.json()) {
    JsonObject object;
    object.number("cancelled", tally.cancelled).number("requested", tally.requested).number("finished", tally.finished);
    print(object.raw("executions", json_array(tally.items)).str());
  } else {
    print(plural(tally.cancelled, "execution") + " cancelled, " + std::to_string(tally.requested) + " told to stop" +
          (tally.finished > 0 ? ", " + std::to_string(tally.finished) + " had ended already" : ""));
  }
  return tally.finished > 0 && !options.selection.ids.empty() ? exit_conflict : exit_ok;
}

}  // namespace

void add_cancel(Commands& commands) {
  const auto options = std::make_shared<CancelOptions>();
  CLI::App& command = commands.add({"cancel", "Cancel executions, by ID or by filter", cancel_examples});
  add_selection(command, options->selection, true);
  command.add_option("--reason", options->reason, "Reason, kept as the error's message")->type_name("TEXT");
  commands.run_with(command, [options](Shell& shell) { return run_cancel(shell, *options); });
}

}  // namespace hapax::cli
