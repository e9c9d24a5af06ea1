#include "guard/frames.hpp"

namespace hapax::guard {

namespace {
thread_local detail::GuardFrame* top = nullptr;
}  // namespace

void push(detail::GuardFrame& frame) {
  frame.above = nullptr;
  frame.below = top;
  if (top != nullptr) { top->above = &frame; }
  top = &frame;
}

void pop(detail::GuardFrame& frame) noexcept {
  if (frame.below != nullptr) { frame.below->above = frame.above; }
  (frame.above != nullptr ? frame.above->below : top) = frame.below;
}

bool is_inside(const GuardStore& store, const GuardKey& key) {
  for (const detail::GuardFrame* frame = top; frame != nullptr; frame = frame->below) {
    if (frame->store == &store && *frame->key == key) { return true; }
  }
  return false;
}

}  // namespace hapax::guard
