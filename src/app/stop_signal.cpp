#include "app/stop_signal.hpp"

#include <hapax/error.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>

namespace hapax::app {

namespace {

constexpr std::array<int, 2> stop_signals = {SIGINT, SIGTERM};

// A signal handler uses both variables, so no lock guards them.
std::atomic<int> event_fd{-1};
std::atomic<int> taken{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void take_stop_signal(int number) {
  const int errno_before = errno;
  taken.store(number);
  const std::uint64_t one = 1;
  // The eventfd's counter cannot overflow: the handler runs once per signal (SA_RESETHAND).
  [[maybe_unused]] const ssize_t written = write(event_fd.load(), &one, sizeof one);
  errno = errno_before;
}

[[noreturn]] void refuse(const char* what) {
  throw UsageError(std::string("run_until_signal cannot take signals: ") + what + ": " + std::strerror(errno));
}

// Installs the signal handlers while at least one thread waits.
class Handlers {
 public:
  void enter() {
    const std::lock_guard lock(mutex_);
    if (waiting_++ > 0) { return; }
    taken.store(0);
    event_fd.store(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (event_fd.load() < 0) {
      --waiting_;
      refuse("eventfd");
    }
    struct sigaction action {};
    action.sa_handler = take_stop_signal;
    action.sa_flags = SA_RESTART | SA_RESETHAND;  // a second signal ends the process
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < stop_signals.size(); ++i) { sigaction(stop_signals[i], &action, &before_[i]); }
  }

  void leave() {
    const std::lock_guard lock(mutex_);
    if (--waiting_ > 0) { return; }
    for (std::size_t i = 0; i < stop_signals.size(); ++i) { sigaction(stop_signals[i], &before_[i], nullptr); }
    close(event_fd.exchange(-1));
  }

 private:
  std::mutex mutex_;
  int waiting_ = 0;
  std::array<struct sigaction, stop_signals.size()> before_{};
};

Handlers handlers;

}  // namespace

int wait_for_stop_signal() {
  handlers.enter();
  // No thread reads the event, so it stays set for all waiting threads.
  pollfd event{.fd = event_fd.load(), .events = POLLIN, .revents = 0};
  while (taken.load() == 0) { (void)poll(&event, 1, -1); }
  const int number = taken.load();
  handlers.leave();
  return number;
}

}  // namespace hapax::app
