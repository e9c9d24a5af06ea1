#include "base/random.hpp"

#include <pthread.h>
#include <sys/random.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <system_error>

namespace hapax::base {

namespace {

// Raised in every forked child, so that numbers buffered by the parent are not used twice.
std::atomic<std::uint64_t> forks{0};

struct Buffer {
  std::array<std::uint64_t, 64> numbers{};
  std::size_t used = 64;
  std::uint64_t filled_at_fork = 0;
};

void watch_forks() {
  static const int watching = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  if (watching != 0) { throw std::system_error(watching, std::generic_category(), "pthread_atfork"); }
}

void refill(Buffer& buffer) {
  watch_forks();
  buffer.filled_at_fork = forks.load(std::memory_order_relaxed);
  auto* const bytes = reinterpret_cast<std::byte*>(buffer.numbers.data());
  std::size_t filled = 0;
  while (filled < sizeof(buffer.numbers)) {
    const ssize_t got = getrandom(bytes + filled, sizeof(buffer.numbers) - filled, 0);
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "getrandom");
    }
  }
  buffer.used = 0;
}

}  // namespace

std::uint64_t SystemRandom::next() {
  thread_local Buffer buffer;
  if (buffer.used == buffer.numbers.size() || buffer.filled_at_fork != forks.load(std::memory_order_relaxed))
      [[unlikely]] {
    refill(buffer);
  }
  return buffer.numbers[buffer.used++];
}

std::uint64_t SeededRandom::next() {
  state_ += 0x9E3779B97F4A7C15ULL;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
  return mixed ^ (mixed >> 31);
}

}  // namespace hapax::base
