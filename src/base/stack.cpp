#include "base/stack.hpp"

#include <csignal>
#include <cstring>
#include <new>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace hapax::base {

namespace {

constexpr std::size_t handler_stack_bytes = 64 << 10;
// A large guard costs address space only. A function with large variables could step over a guard of one page, into the
// next stack below.
constexpr std::size_t guard_bytes = 256 << 10;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t whole_pages(std::size_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

thread_local const Stack* watched = nullptr;
thread_local const char* watched_owner = nullptr;
struct sigaction earlier_segv;  // NOLINT: written once, before the handler is installed
struct sigaction earlier_bus;

void write_to_stderr(const char* text) {
  const ssize_t ignored = write(STDERR_FILENO, text, std::strlen(text));
  (void)ignored;
}

// Calls only functions that are safe in a signal handler.
void on_fault(int signal, siginfo_t* info, void*) {
  if (watched != nullptr && watched->is_guard(info->si_addr)) {
    write_to_stderr("hapax: workflow '");
    write_to_stderr(watched_owner);
    write_to_stderr("' has used up its stack (WorkerOptions::workflow_stack); the process ends\n");
  }
  // Leaves the fault to the earlier handler: restores that handler, and the faulting instruction runs again.
  sigaction(signal, signal == SIGBUS ? &earlier_bus : &earlier_segv, nullptr);
}

void install_handler() {
  static const bool done = [] {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &earlier_segv);
    sigaction(SIGBUS, &action, &earlier_bus);
    return true;
  }();
  (void)done;
}

}  // namespace

Stack::Stack(std::size_t bytes) : guard_(whole_pages(guard_bytes)), bytes_(whole_pages(bytes)) {
  void* const memory = mmap(nullptr, guard_ + bytes_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) { throw std::bad_alloc(); }
  base_ = static_cast<char*>(memory);
  if (mprotect(base_, guard_, PROT_NONE) != 0) {
    munmap(base_, guard_ + bytes_);
    throw std::bad_alloc();
  }
}

Stack::~Stack() { munmap(base_, guard_ + bytes_); }

std::unique_ptr<Stack> StackPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Stack> stack = std::move(free_.back());
      free_.pop_back();
      return stack;
    }
  }
  return std::make_unique<Stack>(bytes_);
}

void StackPool::give_back(std::unique_ptr<Stack> stack) {
  const std::lock_guard lock(mutex_);
  if (free_.size() < keep_) { free_.push_back(std::move(stack)); }
}

GuardWatch::GuardWatch(const Stack& stack, const char* owner) {
  watched_owner = owner;
  watched = &stack;
}

GuardWatch::~GuardWatch() { watched = nullptr; }

AlternateStack::AlternateStack() {
  install_handler();
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE) == 0) { return; }
  memory_ = std::make_unique<char[]>(handler_stack_bytes);
  stack = {};
  stack.ss_sp = memory_.get();
  stack.ss_size = handler_stack_bytes;
  sigaltstack(&stack, nullptr);
}

AlternateStack::~AlternateStack() {
  if (!memory_) { return; }
  stack_t stack{};
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
}

}  // namespace hapax::base
