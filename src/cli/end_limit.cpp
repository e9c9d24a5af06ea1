#include "cli/end_limit.hpp"

#include "base/limits.hpp"
#include "cli/exit_code.hpp"

#include <hapax/error.hpp>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

namespace hapax::cli {

struct EndLimit::State {
  std::mutex mutex;
  std::function<void()> leave;
};

EndLimit::EndLimit(std::function<void()> leave) : state_(std::make_shared<State>()) {
  state_->leave = std::move(leave);
}

EndLimit::~EndLimit() {
  const std::lock_guard lock(state_->mutex);
  state_->leave = nullptr;
}

void EndLimit::set(Clock::time_point at) {
  std::thread([state = state_, at] {
    std::this_thread::sleep_until(at);
    const std::lock_guard lock(state->mutex);
    if (state->leave) { state->leave(); }
    (void)std::fflush(nullptr);
    std::_Exit(exit_store);
  }).detach();
}

void check_grace(Duration grace, const std::string& field) {
  if (grace <= limits::delay_max) { return; }
  throw InvalidArgument(
      field, format_duration(grace) + " is out of range; expected 0 to " + format_duration(limits::delay_max));
}

bool may_hang(const Shell& shell) { return !shell.server_url().empty() || shell.store_url().starts_with("postgres"); }

}  // namespace hapax::cli
