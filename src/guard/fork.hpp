// Fork safety of guards: in a forked child, locks of other threads stay locked for ever, and those threads do not
// exist.
//
// An object with locks registers itself. Around every fork its locks are taken, so that no other thread holds them,
// and released in parent and child. A generation number tells which process holds a call: a child has another
// generation than its parent.
#pragma once

#include <cstdint>

namespace hapax::guard {

// Grows by one in every forked child. Cost: one load of one word.
[[nodiscard]] std::uint64_t process_generation();

// Registered from enlist() to retire(). A derived class calls enlist() at the end of its constructor and retire() at
// the start of its destructor, because it implements the handlers. before_fork must not wait for a thread that may wait
// for another ForkAware.
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
