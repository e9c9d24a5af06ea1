#include "cli/signals.hpp"

#include <pthread.h>

#include <ctime>
#include <thread>

namespace hapax::cli {

StopSignals::StopSignals(Hangup hangup, SupervisedProcess* process) : hangup_(hangup), process_(process) {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGHUP);
  if (process_ == nullptr) { pthread_sigmask(SIG_BLOCK, &signals_, nullptr); }
  // A write to a program that closed its standard input then fails with EPIPE instead of ending the worker.
  std::signal(SIGPIPE, SIG_IGN);
}

StopSignals::Event StopSignals::next_signal(std::chrono::milliseconds at_most) {
  if (process_ != nullptr) {
    if (taken_ > 0) {
      // wait_stop() returns at once after the first request to end, so wait here.
      std::this_thread::sleep_for(at_most);
    } else {
      (void)process_->wait_stop(at_most);
    }
    if (process_->times_told() <= taken_) { return Event::none; }
    ++taken_;
    return Event::stop;
  }
  const timespec timeout{.tv_sec = static_cast<std::time_t>(at_most.count() / 1000),
                         .tv_nsec = static_cast<long>(at_most.count() % 1000 * 1'000'000)};
  const int signal = sigtimedwait(&signals_, nullptr, &timeout);
  if (signal <= 0) { return Event::none; }
  return signal == SIGHUP && hangup_ == Hangup::reloads ? Event::reload : Event::stop;
}

StopSignals::Event StopSignals::wait(std::chrono::milliseconds at_most) {
  if (const Event event = next_signal(at_most); event != Event::none) { return event; }
  return done_.exchange(false) ? Event::done : Event::none;
}

}  // namespace hapax::cli
