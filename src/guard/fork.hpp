// What fork() does to a guard: locks of other threads stay locked in the child for ever, and threads are not there.
//
// An object with locks registers itself; around every fork its locks are taken, so that no other thread is inside, and
// given back on both sides. What a process holds is told by its generation: a child's is another one than its parent's.
#pragma once

#include <cstdint>

namespace hapax::guard {

// Grows by one in every forked child. A load of one word.
[[nodiscard]] std::uint64_t process_generation();

// Registered from construction to destruction; derived classes call enlist() at the end of their constructor and retire()
// at the start of their destructor, as the handlers are theirs. before_fork must not wait for a thread that may wait for
// another ForkAware.
class ForkAware {
 public:
  ForkAware() = default;
  ForkAware(const ForkAware&) = delete;
  ForkAware& operator=(const ForkAware&) = delete;

  virtual void before_fork() = 0;
  virtual void after_fork(bool in_child) = 0;

 protected:
  ~ForkAware() = default;
  void enlist();
  void retire();

 private:
  friend class ForkRegistry;
  ForkAware* next_ = nullptr;
  ForkAware* previous_ = nullptr;
};

}  // namespace hapax::guard
