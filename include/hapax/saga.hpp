// Saga: what to undo when a workflow fails half-way.
//
//   hapax::saga(ctx, [&](hapax::Saga& saga) {
//     Payment payment = ctx.run(charge_card, order);
//     saga.undo("refund", [&, payment] { ctx.run(refund, payment); });
//     ctx.run(reserve_stock, order);                       // throws: the refund runs, then the error goes on
//   });
//
// Compensations run in reverse order. They are ordinary workflow code: what they ask the context for is journaled, so a
// crash in the middle goes on where it was. Cancellation undoes as well.
#pragma once

#include <hapax/workflow_context.hpp>

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hapax {

namespace detail {
// Whether the exception in flight only puts the run aside.
[[nodiscard]] bool is_unwinding();
}  // namespace detail

class Saga {
 public:
  // What undoes the step before, should a later one fail.
  void undo(std::string name, std::function<void()> compensation) {
    compensations_.emplace_back(std::move(name), std::move(compensation));
  }

  // Runs all of them, the last one first. One that throws does not keep the others from running; the first error is
  // thrown at the end.
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

// Calls fn(Saga&); when it throws, compensates and lets the error go on.
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
