#include "cli/signals.hpp"

#include <pthread.h>

#include <ctime>

namespace hapax::cli {

StopSignals::StopSignals(Hangup hangup) : hangup_(hangup) {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  // A program that closes its standard input early is told by EPIPE.
  std::signal(SIGPIPE, SIG_IGN);
}

StopSignals::Event StopSignals::wait(std::chrono::milliseconds at_most) {
  const timespec timeout{.tv_sec = static_cast<std::time_t>(at_most.count() / 1000),
                         .tv_nsec = static_cast<long>(at_most.count() % 1000 * 1'000'000)};
  const int signal = sigtimedwait(&signals_, nullptr, &timeout);
  if (signal == SIGHUP && hangup_ == Hangup::reloads) { return Event::reload; }
  if (signal > 0) { return Event::stop; }
  return done_.exchange(false) ? Event::done : Event::none;
}

}  // namespace hapax::cli
