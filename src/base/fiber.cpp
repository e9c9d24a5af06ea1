#include "base/fiber.hpp"

#include <boost/context/detail/fcontext.hpp>

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

#define HAPAX_NOT_INSTRUMENTED __attribute__((no_sanitize("address")))

#ifdef HAPAX_FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#ifdef HAPAX_FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace hapax::base {

// The C++ ABI's state of each thread (Itanium ABI, 2.2.2): exceptions being handled, and how many are in flight.
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

namespace {

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

}  // namespace

struct Fiber::Impl {
  StackPool& pool;
  std::function<void()> body;
  std::unique_ptr<Stack> stack;
  fcontext_t inside = nullptr;   // the body, while it is suspended
  fcontext_t outside = nullptr;  // the caller of resume(), while the body runs
  ExceptionState exceptions;     // of the side that does not run
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
    // An earlier fiber on this stack may have left its frames poisoned.
    __asan_unpoison_memory_region(stack->bottom(), stack->size());
#endif
    inside = make_fcontext(stack->top(), stack->size(), enter);
  }

  // The first frame of the fiber's stack. This function is not instrumented and does nothing else, as the sanitizer
  // would count its frame to another stack.
  HAPAX_NOT_INSTRUMENTED static void enter(transfer_t from) {
    auto* const self = static_cast<Impl*>(from.data);
    self->outside = from.fctx;
    self->entered_stack();
    self->run();
    self->leave_stack(true);
    jump_fcontext(self->outside, nullptr);
  }

  [[gnu::noinline]] void run() {
    body();
    done = true;
  }

  // Called on the fiber's stack after a switch from the caller's stack.
  HAPAX_NOT_INSTRUMENTED void entered_stack() {
#ifdef HAPAX_FIBER_ASAN
    __sanitizer_finish_switch_fiber(inside_fake, &outside_bottom, &outside_size);
#endif
  }

  // Called on the fiber's stack before a switch to the caller's stack.
  HAPAX_NOT_INSTRUMENTED void leave_stack([[maybe_unused]] bool for_good) {
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

HAPAX_NOT_INSTRUMENTED void Fiber::resume(const char* name) {
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
  impl.inside = jump_fcontext(impl.inside, &impl).fctx;
#ifdef HAPAX_FIBER_ASAN
  __sanitizer_finish_switch_fiber(outside_fake, nullptr, nullptr);
#endif
  impl.exceptions.exchange();
}

HAPAX_NOT_INSTRUMENTED void Fiber::suspend() {
  Impl& impl = *impl_;
  impl.leave_stack(false);
  impl.outside = jump_fcontext(impl.outside, nullptr).fctx;
  impl.entered_stack();
}

bool Fiber::done() const { return impl_->done; }

bool Fiber::in_catch() const { return impl_->exceptions.caught != nullptr || impl_->exceptions.uncaught != 0; }

std::size_t Fiber::stack_left() const {
  // A sanitizer may keep local variables on another stack, so the address of one would not do.
  return static_cast<std::size_t>(static_cast<char*>(__builtin_frame_address(0)) - impl_->stack->bottom());
}

void Fiber::abandon() {
  // An abandoned fiber is never unwound; the objects on its stack stay reachable.
  static std::mutex mutex;
  static auto* const abandoned = new std::vector<Impl*>();  // NOLINT: for as long as the process lives
#ifdef HAPAX_FIBER_ASAN
  __lsan_register_root_region(impl_->stack->bottom(), impl_->stack->size());
#endif
  const std::lock_guard lock(mutex);
  abandoned->push_back(impl_.release());
}

}  // namespace hapax::base
