// Fiber: a function with a stack of its own that can stop in the middle and go on later.
#pragma once

#include "workflow/stack.hpp"

#include <cstddef>
#include <functional>
#include <memory>

namespace hapax::workflow {

// Created, resumed and destroyed by one thread: exceptions in flight and thread-local addresses are that thread's. Each
// switch saves and restores what the C++ runtime keeps of exceptions, so that fibers suspended inside catch blocks do not
// rethrow each other's; and tells the sanitizers.
class Fiber {
 public:
  // The body must not throw.
  Fiber(StackPool& pool, std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  // The body has ended, was never begun, or was abandoned.
  ~Fiber();

  // Runs the body until it suspends or ends. `name` is whose stack it is, for the line that a hit on its guard writes.
  void resume(const char* name);
  // Inside the body: back to the one who resumed it.
  void suspend();

  [[nodiscard]] bool done() const;
  // Suspended while an exception is being handled.
  [[nodiscard]] bool in_catch() const;
  // Inside the body: bytes left of its stack.
  [[nodiscard]] std::size_t stack_left() const;
  // It will never be resumed: its stack, and what lives on it, is left as it is.
  void abandon();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hapax::workflow
