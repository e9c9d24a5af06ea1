#include "cli/execution_table.hpp"

#include "cli/arguments.hpp"
#include "cli/render.hpp"
#include "cli/table.hpp"
#include "wire/execution_read.hpp"

namespace hapax::cli {
namespace {

std::string remark(const model::Execution& execution) {
  if (!execution.stuck.empty()) { return execution.stuck; }
  if (execution.error) { return error_line(execution.error); }
  return execution.progress_message;
}

}  // namespace

void print_executions(Shell& shell, Listing listing, std::int64_t limit, const std::string& when_empty) {
  Backend& backend = shell.backend();
  if (shell.json()) {
    // With the first: what is wrong from the start is told alone.
    bool first = true;
    each_execution(backend, listing, limit, [&first](const std::string& document) {
      std::fputs(std::exchange(first, false) ? "[" : ",\n", stdout);
      std::fwrite(document.data(), 1, document.size(), stdout);
      return std::ferror(stdout) == 0;
    });
    print(first ? "[]" : "]");
    return;
  }
  listing.query.payloads = false;
  const Time now = backend.now();
  Table table({{.title = "ID"},
               {.title = "TASK", .widest = 30},
               {.title = "QUEUE", .widest = 20},
               {.title = "STATUS"},
               {.title = "TRIES", .numeric = true},
               {.title = "CREATED"},
               {.title = "RUNS"},
               {.title = "KEY", .widest = 24},
               {.title = "REMARK", .widest = 60}});
  each_execution(backend, listing, limit, [&](const std::string& document) {
    const model::Execution e = read_execution(document);
    const bool waits = e.status == Status::pending;
    const std::optional<Time> ran = waits ? std::optional(e.run_at) : e.finished_at ? e.finished_at : e.started_at;
    table.add({e.id.to_string(), e.task, e.queue.name, status_cell(e, now),
               std::to_string(e.attempt) + "/" + std::to_string(e.max_attempts), when(e.created_at, now),
               when(ran, now), e.identity_key, Cell(remark(e), Style::dim)});
    return true;
  });
  table.print(when_empty);
}

}  // namespace hapax::cli
