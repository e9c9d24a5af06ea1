#include "cli/awaiting.hpp"

#include "api/execution_read.hpp"
#include "cli/backend.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"

namespace hapax::cli {

model::Outcome await_outcome(Shell& shell, const Uuid& id, std::optional<Duration> at_most) {
  return read_outcome(shell.backend().await(id, at_most));
}

int exit_code_of(Status status) {
  if (status == Status::completed) { return exit_ok; }
  return is_terminal(status) ? exit_unsuccessful : exit_still_going;
}

void print_outcome(const Shell& shell, const model::Outcome& outcome) {
  if (shell.json()) {
    print(outcome_json(outcome));
    return;
  }
  Facts facts;
  facts.add("id", outcome.id.to_string());
  facts.add("status", std::string(to_string(outcome.status)), status_style(outcome.status));
  if (outcome.status == Status::completed) { facts.add("result", outcome.result.value_or("null")); }
  facts.add_if("error", error_line(outcome.error));
  facts.print();
}

}  // namespace hapax::cli
