#include "base/json_out.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/table.hpp"
#include "cli/wrap.hpp"
#include "store/write_probe.hpp"

namespace hapax::cli {
namespace {

constexpr const char* doctor_examples =
    "Examines the store, commits a write, and prints problems with advice.\n"
    "With --json: {\"store\",\"backend\",\"version\",\"schema_version\",\n"
    "\"findings\":[{\"level\",\"subject\",\"detail\",\"advice\"}]}.\n"
    "\n"
    "Exit codes: 0 no problem (warnings do not count); 1 a problem was found; 66\n"
    "there is no such store; 75 the store cannot be opened.\n"
    "\n"
    "Examples:\n"
    "  hapax doctor\n"
    "  hapax doctor --store postgresql://hapax@db/app --json";

using Level = store::Finding::Level;

std::string_view name_of(Level level) {
  switch (level) {
    case Level::ok: return "ok";
    case Level::note: return "note";
    case Level::warning: return "warning";
    case Level::problem: return "problem";
  }
  return "note";
}

Style style_of(Level level) {
  switch (level) {
    case Level::ok: return Style::good;
    case Level::note: return Style::plain;
    case Level::warning: return Style::warn;
    case Level::problem: return Style::bad;
  }
  return Style::plain;
}

// Makes the same check as GET /readyz.
store::Finding write_finding(store::Store& store) {
  try {
    store::check_writable(store);
  } catch (const Error& error) {
    return {Level::problem, "writes", error.what(),
            "enqueues and outcomes are refused until the store takes writes again"};
  }
  return {Level::ok, "writes", "a write was committed", ""};
}

int run_doctor(Shell& shell) {
  const store::StoreInfo info = shell.store().info();
  std::vector<store::Finding> findings = shell.store().doctor();
  findings.push_back(write_finding(shell.store()));
  bool problem = false;
  std::vector<std::string> items;
  Table table({{.title = "LEVEL"},
               {.title = "SUBJECT"},
               {.title = "FINDING", .folds = true},
               {.title = "ADVICE", .folds = true}});
  for (const store::Finding& finding : findings) {
    problem = problem || finding.level == Level::problem;
    JsonObject item;
    item.text("level", name_of(finding.level)).text("subject", finding.subject).text("detail", finding.detail);
    items.push_back(item.text_or_null("advice", finding.advice).str());
    table.add({Cell(std::string(name_of(finding.level)), style_of(finding.level)), finding.subject, finding.detail,
               finding.advice});
  }
  if (shell.json()) {
    JsonObject object;
    object.text("store", info.location).text("backend", info.backend).text("version", info.version);
    object.number("schema_version", std::int64_t{info.schema_version}).raw("findings", json_array(items));
    print(object.str());
  } else {
    const std::string about = info.backend + " " + info.version + " at " + info.location + ", schema version " +
                              std::to_string(info.schema_version);
    const Terminal& terminal = output_terminal();
    const std::size_t columns = terminal.is_tty ? static_cast<std::size_t>(terminal.columns) : about.size();
    for (const std::string& line : wrap(base::printable(about), columns)) { print(line); }
    table.print("nothing to report");
  }
  return problem ? exit_unsuccessful : exit_ok;
}

}  // namespace

void add_doctor(Commands& commands) {
  CLI::App& command = commands.add({"doctor", "Check the store's health", doctor_examples});
  commands.run_with(command, run_doctor);
}

}  // namespace hapax::cli
