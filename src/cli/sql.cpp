#include "base/json_out.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/table.hpp"

namespace hapax::cli {
namespace {

constexpr const char* sql_examples =
    "Runs a read-only statement; statements that would write are refused. The view\n"
    "`executions` has all executions, pending, running and ended; `activity_runs` has\n"
    "the runs of activities, `task_instances` the executions that those runs started.\n"
    "Never open a SQLite store's file with another program while hapax uses it; this\n"
    "command is safe.\n"
    "With --json an array of objects; columns of numbers and booleans keep their\n"
    "type, all other values are strings.\n"
    "\n"
    "Examples:\n"
    "  hapax sql \"SELECT status, count(*) FROM executions GROUP BY status\"\n"
    "  hapax sql - --json < report.sql";

struct SqlOptions {
  std::string statement;
  int limit = 1000;
};

// Plain columns hold numbers and booleans, which are JSON, except for NaN and Infinity.
bool is_json(const std::string& text) {
  return text == "true" || text == "false" || (!text.empty() && text.back() >= '0' && text.back() <= '9');
}

std::string rows_json(const store::TextTable& table) {
  std::vector<std::string> rows;
  for (const auto& row : table.rows) {
    JsonObject object;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!row[i]) {
        object.null(table.columns[i]);
      } else if (table.plain[i] && is_json(*row[i])) {
        object.raw(table.columns[i], *row[i]);
      } else {
        object.text(table.columns[i], *row[i]);
      }
    }
    rows.push_back(object.str());
  }
  return json_array(rows);
}

int run_sql(Shell& shell, const SqlOptions& options) {
  if (options.limit < 1) {
    throw InvalidArgument("limit", std::to_string(options.limit) + " is out of range; expected 1 or more");
  }
  const std::string statement = options.statement == "-" ? read_payload("-", "statement") : options.statement;
  const store::TextTable table = shell.store().sql(statement, options.limit);
  if (shell.json()) {
    print(rows_json(table));
  } else {
    std::vector<Column> columns;
    for (const std::string& name : table.columns) {
      columns.push_back({.title = base::printable(name), .folds = true});
    }
    Table out(columns);
    for (const auto& row : table.rows) {
      std::vector<Cell> cells;
      for (const auto& value : row) { cells.push_back(value ? Cell(*value) : Cell("NULL", Style::dim)); }
      out.add(std::move(cells));
    }
    out.print("no rows");
  }
  if (table.truncated && !shell.quiet()) {
    std::fprintf(stderr, "only the first %d rows are shown; --limit changes that\n", options.limit);
  }
  return exit_ok;
}

}  // namespace

void add_sql(Commands& commands) {
  const auto options = std::make_shared<SqlOptions>();
  CLI::App& command = commands.add({"sql", "Run a read-only SQL statement on the store", sql_examples});
  command.add_option("statement", options->statement, "SELECT …, or - for standard input")
      ->type_name("SQL")
      ->required();
  command.add_option("--limit", options->limit, "Print at most N rows")->type_name("N")->capture_default_str();
  commands.run_with(command, [options](Shell& shell) { return run_sql(shell, *options); });
}

}  // namespace hapax::cli
