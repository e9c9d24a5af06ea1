#include "store/memory/change_listener.hpp"

#include <utility>

namespace hapax::store::memory {

namespace {

class MemoryListener final : public Listener {
 public:
  explicit MemoryListener(std::shared_ptr<Announcements> announcements) : announcements_(std::move(announcements)) {
    const std::lock_guard lock(announcements_->mutex);
    seen_ = announcements_->count;
  }

  bool wait(Duration at_most) override {
    std::unique_lock lock(announcements_->mutex);
    announcements_->changed.wait_for(lock, at_most, [this] { return interrupted_ || announcements_->count != seen_; });
    if (interrupted_) {
      interrupted_ = false;
      return false;
    }
    return std::exchange(seen_, announcements_->count) != announcements_->count;
  }

  void interrupt() override {
    {
      const std::lock_guard lock(announcements_->mutex);
      interrupted_ = true;
    }
    announcements_->changed.notify_all();
  }

 private:
  const std::shared_ptr<Announcements> announcements_;
  std::uint64_t seen_ = 0;    // under the announcements' mutex
  bool interrupted_ = false;  // under the announcements' mutex
};

}  // namespace

void Announcements::announce() {
  {
    const std::lock_guard lock(mutex);
    count += 1;
  }
  changed.notify_all();
}

std::unique_ptr<Listener> listen(std::shared_ptr<Announcements> announcements) {
  return std::make_unique<MemoryListener>(std::move(announcements));
}

}  // namespace hapax::store::memory
