#include "guard/fork.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace hapax::guard {

namespace {
std::atomic<std::uint64_t> generation{1};
}  // namespace

std::uint64_t process_generation() { return generation.load(std::memory_order_relaxed); }

// Never destroyed: guards may live as long as the process.
class ForkRegistry {
 public:
  static ForkRegistry& instance() {
    static auto* const registry = new ForkRegistry;
    return *registry;
  }

  void add(ForkAware& object) {
    const std::lock_guard lock(mutex_);
    object.next_ = first_;
    if (first_ != nullptr) { first_->previous_ = &object; }
    first_ = &object;
  }

  void remove(ForkAware& object) {
    const std::lock_guard lock(mutex_);
    if (object.next_ != nullptr) { object.next_->previous_ = object.previous_; }
    (object.previous_ != nullptr ? object.previous_->next_ : first_) = object.next_;
  }

 private:
  ForkRegistry() {
    pthread_atfork([] { instance().before(); }, [] { instance().after(false); }, [] { instance().after(true); });
  }

  void before() {
    mutex_.lock();
    for (ForkAware* each = first_; each != nullptr; each = each->next_) { each->before_fork(); }
  }

  void after(bool in_child) {
    if (in_child) { generation.fetch_add(1); }
    for (ForkAware* each = first_; each != nullptr; each = each->next_) { each->after_fork(in_child); }
    mutex_.unlock();
  }

  std::mutex mutex_;
  ForkAware* first_ = nullptr;
};

void ForkAware::enlist() { ForkRegistry::instance().add(*this); }
void ForkAware::retire() { ForkRegistry::instance().remove(*this); }

}  // namespace hapax::guard
