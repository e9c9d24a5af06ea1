#include "cli/awaiting.hpp"

#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "engine/engine.hpp"
#include "engine/waiters.hpp"

namespace hapax::cli {

model::Outcome await_outcome(engine::Engine& engine, const Uuid& id, std::optional<Duration> at_most) {
  if (std::optional<model::Outcome> end = engine.waiters().wait(id, at_most, false)) { return std::move(*end); }
  const std::optional<model::Outcome> standing = engine.store().outcomes({&id, 1}).front();
  if (!standing) {
    throw ResultExpired("the record of execution " + id.to_string() +
                        " is gone (retention), its result cannot be told");
  }
  return *standing;
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
