#include "api/routes/remote_sessions.hpp"

#include <algorithm>

namespace hapax::api {

namespace {

constexpr Duration first_patience = std::chrono::milliseconds(500);
constexpr Duration patience_in_line = std::chrono::seconds(5);

}  // namespace

Pollers::Ticket::Ticket(std::shared_ptr<Pollers> pollers, std::vector<model::QueueRef> queues)
    : pollers_(std::move(pollers)), queues_(std::move(queues)) {
  pollers_->enter(queues_, signal_);
}

Pollers::Ticket::~Ticket() { pollers_->leave(queues_, signal_); }

Duration Pollers::Ticket::patience() const {
  const std::lock_guard lock(pollers_->mutex_);
  const bool is_first = std::any_of(queues_.begin(), queues_.end(), [this](const model::QueueRef& queue) {
    const auto line = pollers_->lines_.find(queue);
    return line != pollers_->lines_.end() && line->second.front() == signal_;
  });
  return is_first ? first_patience : patience_in_line;
}

void Pollers::Ticket::wake_next() {
  std::vector<std::shared_ptr<http::Signal>> others;
  {
    const std::lock_guard lock(pollers_->mutex_);
    for (const model::QueueRef& queue : queues_) {
      const auto line = pollers_->lines_.find(queue);
      if (line == pollers_->lines_.end()) { continue; }
      const auto other = std::find_if(line->second.begin(), line->second.end(),
                                      [this](const std::shared_ptr<http::Signal>& each) { return each != signal_; });
      if (other != line->second.end()) { others.push_back(*other); }
    }
  }
  for (const std::shared_ptr<http::Signal>& signal : others) { signal->raise(); }
}

void Pollers::Ticket::pass_wakeup_on() {
  std::vector<std::shared_ptr<http::Signal>> others;
  {
    const std::lock_guard lock(pollers_->mutex_);
    for (const model::QueueRef& queue : queues_) {
      const auto line = pollers_->lines_.find(queue);
      if (line == pollers_->lines_.end()) { continue; }
      auto next = std::find(line->second.begin(), line->second.end(), signal_);
      if (next != line->second.end() && ++next != line->second.end() &&
          std::find(others.begin(), others.end(), *next) == others.end()) {
        others.push_back(*next);
      }
    }
  }
  for (const std::shared_ptr<http::Signal>& signal : others) { signal->raise(); }
}

void Pollers::enter(const std::vector<model::QueueRef>& queues, const std::shared_ptr<http::Signal>& signal) {
  const std::lock_guard lock(mutex_);
  for (const model::QueueRef& queue : queues) { lines_[queue].push_back(signal); }
}

void Pollers::leave(const std::vector<model::QueueRef>& queues, const std::shared_ptr<http::Signal>& signal) {
  std::vector<std::shared_ptr<http::Signal>> heads;
  {
    const std::lock_guard lock(mutex_);
    for (const model::QueueRef& queue : queues) {
      const auto line = lines_.find(queue);
      if (line == lines_.end()) { continue; }
      const bool was_first = line->second.front() == signal;
      line->second.remove(signal);
      if (line->second.empty()) {
        lines_.erase(line);
      } else if (was_first) {
        heads.push_back(line->second.front());
      }
    }
  }
  // The call that is first now must claim by itself, and the leaving call may have consumed the wakeup of that call.
  for (const std::shared_ptr<http::Signal>& head : heads) { head->raise(); }
}

void Pollers::queue_changed(const model::QueueRef& queue, Duration) {
  std::shared_ptr<http::Signal> woken;
  {
    const std::lock_guard lock(mutex_);
    const auto line = lines_.find(queue);
    if (line == lines_.end()) { return; }
    // Wakes the first call in line; when that call finds work it leaves, and the next one is first.
    woken = line->second.front();
  }
  woken->raise();
}

void Pollers::something_changed() {
  std::vector<std::shared_ptr<http::Signal>> woken;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [queue, line] : lines_) {
      if (std::find(woken.begin(), woken.end(), line.front()) == woken.end()) { woken.push_back(line.front()); }
    }
  }
  for (const std::shared_ptr<http::Signal>& signal : woken) { signal->raise(); }
}

}  // namespace hapax::api
