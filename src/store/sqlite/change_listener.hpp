// Wakeups across processes by polling PRAGMA data_version, often while there is traffic and rarely when there is none.
#pragma once

#include "store/sqlite/connection.hpp"
#include "store/sqlite/writer.hpp"
#include "store/store.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace hapax::store::sqlite {

// A poll costs 2 to 3 µs. While there is traffic there are up to 2,000 polls a second; after half a second of silence,
// 50.
inline constexpr Duration shortest_poll = std::chrono::microseconds(500);
inline constexpr Duration longest_poll = std::chrono::milliseconds(20);
// The pause between polls is the time since the last change divided by this.
inline constexpr int poll_fraction = 20;

// Owned by the caller of Store::listen(); must not outlive the store. One thread waits; any thread may interrupt.
class ChangeListener final : public Listener {
 public:
  explicit ChangeListener(Writer& writer);
  ~ChangeListener() override;

  bool wait(Duration at_most) override;
  void interrupt() override;

 private:
  [[nodiscard]] bool changed();

  Writer& writer_;
  Connection db_;
  std::int64_t seen_ = 0;
  std::int64_t seen_foreign_ = 0;
  std::chrono::steady_clock::time_point last_change_;
  std::mutex mutex_;
  std::condition_variable condition_;
  bool interrupted_ = false;
};

}  // namespace hapax::store::sqlite
