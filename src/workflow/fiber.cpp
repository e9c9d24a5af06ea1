#include "workflow/fiber.hpp"

#include <boost/context/fiber.hpp>

#include <cxxabi.h>

#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define HAPAX_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAPAX_FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define HAPAX_FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAPAX_FIBER_TSAN 1
#endif
#endif

#ifdef HAPAX_FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#ifdef HAPAX_FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace hapax::workflow {

namespace {

// What the C++ ABI keeps for each thread (Itanium ABI, 2.2.2): exceptions being handled, and how many are in flight.
struct ExceptionState {
  void* caught = nullptr;
  unsigned int uncaught = 0;

  void exchange() {
    ExceptionState here;
    void* const globals = abi::__cxa_get_globals();
    std::memcpy(&here.caught, globals, sizeof(void*));
    std::memcpy(&here.uncaught, static_cast<char*>(globals) + sizeof(void*), sizeof(unsigned int));
    std::memcpy(globals, &caught, sizeof(void*));
    std::memcpy(static_cast<char*>(globals) + sizeof(void*), &uncaught, sizeof(unsigned int));
    *this = here;
  }
};

// The stack is ours; Boost only builds on it.
struct GivenStack {
  boost::context::stack_context allocate() { return {}; }
  void deallocate(boost::context::stack_context&) {}
};

}  // namespace

struct Fiber::Impl {
  StackPool& pool;
  std::function<void()> body;
  std::unique_ptr<Stack> stack;
  boost::context::fiber inside;   // the body, while it is suspended
  boost::context::fiber outside;  // who resumed it, while it runs
  ExceptionState exceptions;      // the other side's
  bool done = false;
#ifdef HAPAX_FIBER_ASAN
  void* inside_fake = nullptr;
  const void* outside_bottom = nullptr;
  std::size_t outside_size = 0;
#endif
#ifdef HAPAX_FIBER_TSAN
  void* inside_tsan = __tsan_create_fiber(0);
  void* outside_tsan = nullptr;
#endif

  Impl(StackPool& from, std::function<void()> fn) : pool(from), body(std::move(fn)), stack(pool.take()) {
#ifdef HAPAX_FIBER_ASAN
    // Addresses may have been another's before, whose frames were left marked.
    __asan_unpoison_memory_region(stack->bottom(), stack->size());
#endif
    boost::context::stack_context context;
    context.sp = stack->top();
    context.size = stack->size();
    inside = boost::context::fiber(std::allocator_arg, boost::context::preallocated(context.sp, context.size, context),
                                   GivenStack{}, [this](boost::context::fiber&& caller) {
                                     outside = std::move(caller);
                                     arrived();
                                     body();
                                     done = true;
                                     leave(true);
                                     return std::move(outside);
                                   });
  }

  // On the fiber's stack, coming from outside.
  void arrived() {
#ifdef HAPAX_FIBER_ASAN
    __sanitizer_finish_switch_fiber(inside_fake, &outside_bottom, &outside_size);
#endif
  }

  // On the fiber's stack, before going outside.
  void leave([[maybe_unused]] bool for_good) {
#ifdef HAPAX_FIBER_ASAN
    __sanitizer_start_switch_fiber(for_good ? nullptr : &inside_fake, outside_bottom, outside_size);
#endif
#ifdef HAPAX_FIBER_TSAN
    __tsan_switch_to_fiber(outside_tsan, 0);
#endif
  }
};

Fiber::Fiber(StackPool& pool, std::function<void()> body) : impl_(std::make_unique<Impl>(pool, std::move(body))) {}

Fiber::~Fiber() {
  if (!impl_) { return; }
#ifdef HAPAX_FIBER_TSAN
  __tsan_destroy_fiber(impl_->inside_tsan);
#endif
  if (impl_->done) { impl_->pool.give_back(std::move(impl_->stack)); }
}

void Fiber::resume(const char* name) {
  Impl& impl = *impl_;
  const GuardWatch watch(*impl.stack, name);
  impl.exceptions.exchange();
#ifdef HAPAX_FIBER_ASAN
  void* outside_fake = nullptr;
  __sanitizer_start_switch_fiber(&outside_fake, impl.stack->bottom(), impl.stack->size());
#endif
#ifdef HAPAX_FIBER_TSAN
  impl.outside_tsan = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(impl.inside_tsan, 0);
#endif
  impl.inside = std::move(impl.inside).resume();
#ifdef HAPAX_FIBER_ASAN
  __sanitizer_finish_switch_fiber(outside_fake, nullptr, nullptr);
#endif
  impl.exceptions.exchange();
}

void Fiber::suspend() {
  Impl& impl = *impl_;
  impl.leave(false);
  impl.outside = std::move(impl.outside).resume();
  impl.arrived();
}

bool Fiber::done() const { return impl_->done; }

bool Fiber::in_catch() const { return impl_->exceptions.caught != nullptr; }

std::size_t Fiber::stack_left() const {
  const char here = 0;
  return static_cast<std::size_t>(&here - impl_->stack->bottom());
}

void Fiber::abandon() {
  // Destroying a suspended fiber would unwind it; so nobody does. What lives on its stack stays reachable.
  static std::mutex mutex;
  static auto* const abandoned = new std::vector<Impl*>();  // NOLINT: for as long as the process lives
#ifdef HAPAX_FIBER_ASAN
  __lsan_register_root_region(impl_->stack->bottom(), impl_->stack->size());
#endif
  const std::lock_guard lock(mutex);
  abandoned->push_back(impl_.release());
}

}  // namespace hapax::workflow
