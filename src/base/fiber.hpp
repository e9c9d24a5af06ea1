// Fiber: a function with a stack of its own that can stop in the middle and go on later.
#pragma once

#include "base/stack.hpp"

#include <cstddef>
#include <functional>
#include <memory>

namespace hapax::base {

// One thread creates, resumes and destroys a Fiber: exceptions in flight and thread-local addresses belong to that
// thread. Each switch saves and restores the C++ runtime's exception state, so that fibers suspended inside catch
// blocks do not rethrow each other's exceptions, and informs the sanitizers.
class Fiber {
 public:
  // The body must not throw.
  Fiber(StackPool& pool, std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  // The body must have ended, never have begun, or be abandoned.
  ~Fiber();

  // Runs the body until it suspends or ends. `name`: the stack's owner, for the message when the stack overflows.
  void resume(const char* name);
  // Inside the body: returns to the caller of resume().
  void suspend();

  [[nodiscard]] bool done() const;
  // Whether the fiber is suspended inside a catch block, or in a destructor that an exception in flight has called.
  [[nodiscard]] bool in_catch() const;
  // Inside the body: bytes left of its stack.
  [[nodiscard]] std::size_t stack_left() const;
  // Gives up a fiber that is never resumed again: its stack, and the objects on the stack, stay as they are.
  void abandon();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hapax::base
