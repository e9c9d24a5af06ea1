// Stacks for fibers: mapped memory with guard pages below, reused for later fibers.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace hapax::base {

// One mapping. Only touched pages cost memory.
class Stack {
 public:
  explicit Stack(std::size_t bytes);
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  ~Stack();

  [[nodiscard]] char* bottom() const { return base_ + guard_; }  // lowest usable address
  [[nodiscard]] char* top() const { return base_ + guard_ + bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  [[nodiscard]] bool is_guard(const void* address) const {
    const char* const at = static_cast<const char*>(address);
    return at >= base_ && at < base_ + guard_;
  }

 private:
  std::size_t guard_;
  std::size_t bytes_;
  char* base_;
};

// Any thread may call it. Returned stacks are kept for reuse, up to `keep`.
class StackPool {
 public:
  explicit StackPool(std::size_t bytes, std::size_t keep = 256) : bytes_(bytes), keep_(keep) {}

  [[nodiscard]] std::unique_ptr<Stack> take();
  void give_back(std::unique_ptr<Stack> stack);

 private:
  const std::size_t bytes_;
  const std::size_t keep_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Stack>> free_;
};

// While a GuardWatch lives, a hit on the guard of `stack` by this thread ends the process with a line that names
// `owner`, instead of a bare SIGSEGV. `owner` must outlive it.
class GuardWatch {
 public:
  GuardWatch(const Stack& stack, const char* owner);
  GuardWatch(const GuardWatch&) = delete;
  GuardWatch& operator=(const GuardWatch&) = delete;
  ~GuardWatch();
};

// A stack for the signal handler, one for each thread that runs fibers: an overflowed fiber's stack has no room for it.
// A thread that has an alternate stack already keeps it.
class AlternateStack {
 public:
  AlternateStack();
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;
  ~AlternateStack();

 private:
  std::unique_ptr<char[]> memory_;
};

}  // namespace hapax::base
