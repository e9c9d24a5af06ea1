#include "cli/execution_table.hpp"

#include "api/execution_read.hpp"
#include "cli/arguments.hpp"
#include "cli/render.hpp"
#include "cli/short_id.hpp"
#include "cli/table.hpp"

namespace hapax::cli {
namespace {

std::string remark(const model::Execution& execution) {
  if (!execution.stuck.empty()) { return execution.stuck; }
  if (execution.error) { return error_line(execution.error); }
  return execution.progress_message;
}

}  // namespace

void print_executions(Shell& shell, Printing printing) {
  Backend& backend = shell.backend();
  auto& [listing, limit, when_empty, check_empty] = printing;
  if (shell.json()) {
    // The bracket is printed with the first document, so that an error before it is printed alone.
    bool first = true;
    each_execution(backend, listing, limit, [&first](const std::string& document) {
      std::fputs(std::exchange(first, false) ? "[" : ",\n", stdout);
      std::fwrite(document.data(), 1, document.size(), stdout);
      return std::ferror(stdout) == 0;
    });
    if (first) { check_empty(); }
    print(first ? "[]" : "]");
    return;
  }
  listing.query.payloads = false;
  const Time now = backend.now();
  Table table({{.title = "ID", .whole = true},
               {.title = "TASK", .widest = 30},
               {.title = "QUEUE", .widest = 20},
               {.title = "STATUS", .whole = true},
               {.title = "TRIES", .numeric = true},
               {.title = "CREATED"},
               {.title = "RUNS"},
               {.title = "KEY", .folds = true},
               {.title = "REMARK", .folds = true}});
  each_execution(backend, listing, limit, [&](const std::string& document) {
    const model::Execution e = read_execution(document);
    const bool waits = e.status == Status::pending;
    const std::optional<Time> ran = waits ? std::optional(e.run_at) : e.finished_at ? e.finished_at : e.started_at;
    table.add({shown_id(e.id), e.task, e.queue.name, status_cell(e, now),
               std::to_string(e.attempt) + "/" + std::to_string(e.max_attempts), when(e.created_at, now),
               when(ran, now), e.identity_key, Cell(remark(e), Style::dim)});
    return true;
  });
  if (table.empty()) { check_empty(); }
  table.print(when_empty);
}

}  // namespace hapax::cli
