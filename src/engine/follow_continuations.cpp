#include "engine/follow_continuations.hpp"

#include <algorithm>
#include <utility>

namespace hapax::engine {

namespace {

Time end_of(const std::optional<Duration>& at_most) {
  return at_most ? engine_now() + std::min(*at_most, longest_wait) : never;
}

std::optional<Duration> left_until(Time until) {
  return until == never ? std::nullopt : std::optional(std::max(until - engine_now(), Duration::zero()));
}

void watch_until(Waiters& waiters, const Uuid& id, Waiters::Callback callback, bool local, Time until) {
  waiters.watch(
      id,
      [&waiters, callback = std::move(callback), until](const model::Outcome* outcome,
                                                        const std::exception_ptr& error) {
        if (outcome == nullptr || !outcome->continued_as) {
          callback(outcome, error);
          return;
        }
        try {
          watch_until(waiters, *outcome->continued_as, callback, false, until);
        } catch (...) { callback(nullptr, std::current_exception()); }
      },
      local, left_until(until));
}

}  // namespace

std::optional<model::Outcome> wait_for_last_run(Waiters& waiters, Uuid id, std::optional<Duration> at_most,
                                                bool local) {
  const Time until = end_of(at_most);
  while (true) {
    std::optional<model::Outcome> outcome = waiters.wait(id, left_until(until), local);
    if (!outcome || !outcome->continued_as) { return outcome; }
    const bool waited = at_most && *at_most > Duration::zero();
    if (waited && engine_now() >= until) { return std::nullopt; }
    id = *outcome->continued_as;
    local = false;
  }
}

void watch_last_run(Waiters& waiters, const Uuid& id, Waiters::Callback callback, bool local,
                    std::optional<Duration> at_most) {
  watch_until(waiters, id, std::move(callback), local, end_of(at_most));
}

}  // namespace hapax::engine
