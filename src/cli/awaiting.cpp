#include "cli/awaiting.hpp"

#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "engine/engine.hpp"
#include "engine/step_thread.hpp"
#include "engine/waiters.hpp"

#include <algorithm>

namespace hapax::cli {

model::Outcome await_outcome(engine::Engine& engine, const Uuid& first, std::optional<Duration> at_most) {
  const Time until = at_most ? engine::engine_now() + std::min(*at_most, engine::longest_wait) : engine::never;
  Uuid id = first;
  while (true) {
    std::optional<Duration> left;
    if (at_most) { left = std::max(until - engine::engine_now(), Duration::zero()); }
    std::optional<model::Outcome> end = engine.waiters().wait(id, left, false);
    if (!end) { break; }
    if (!end->continued_as) { return std::move(*end); }
    id = *end->continued_as;
  }
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
