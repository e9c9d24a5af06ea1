// Saga: compensations that undo a workflow's completed steps when a later step fails.
//
//   hapax::saga(ctx, [&](hapax::Saga& saga) {
//     Payment payment = ctx.run(charge_card, order);
//     saga.undo("refund", [&, payment] { ctx.run(refund, payment); });
//     ctx.run(reserve_stock, order);                       // throws: the refund runs, then the error goes on
//   });
//
// Compensations run in reverse order. Compensations are ordinary workflow code: their calls on the context are
// journaled, so after a crash they continue where they stopped. Cancellation runs them too.
#pragma once

#include <hapax/workflow_context.hpp>

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hapax {

namespace detail {
// Whether the exception in flight only evicts the run from memory.
[[nodiscard]] bool is_unwinding();
}  // namespace detail

// The list of compensations of one saga. Only the workflow's function may use it.
class Saga {
 public:
  // Registers the compensation of the step before. The saga runs it if a later step fails.
  void undo(std::string name, std::function<void()> compensation) {
    compensations_.emplace_back(std::move(name), std::move(compensation));
  }

  // Runs all compensations, last first. When one throws, the others still run; the first error is thrown at the end.
  void compensate() {
    std::exception_ptr first;
    while (!compensations_.empty()) {
      auto [name, compensation] = std::move(compensations_.back());
      compensations_.pop_back();
      try {
        compensation();
      } catch (...) {
        if (detail::is_unwinding()) { throw; }
        if (!first) { first = std::current_exception(); }
      }
    }
    if (first) { std::rethrow_exception(first); }
  }

 private:
  std::vector<std::pair<std::string, std::function<void()>>> compensations_;
};

// Calls fn(Saga&) and returns its result. When fn throws, runs the compensations and rethrows.
template <class Fn>
auto saga(WorkflowContext& context, Fn&& fn) {
  (void)context;
  Saga saga;
  try {
    return fn(saga);
  } catch (...) {
    if (!detail::is_unwinding()) { saga.compensate(); }
    throw;
  }
}

}  // namespace hapax
