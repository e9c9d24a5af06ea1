// The guarded calls that the current thread is inside of: tells a recursion from a wait for another caller.
//
// A list rather than a stack, as fibers of one thread may end their calls in any order.
#pragma once

#include <hapax/detail/guard_call.hpp>

namespace hapax::guard {

void push(detail::GuardFrame& frame);
void pop(detail::GuardFrame& frame) noexcept;
[[nodiscard]] bool is_inside(const GuardStore& store, const GuardKey& key);

}  // namespace hapax::guard
