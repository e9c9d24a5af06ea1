#include "http/health.hpp"

#include <hapax/error.hpp>

#include <exception>

namespace hapax::http {

Readiness::~Readiness() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) { thread_.join(); }
}

std::vector<Readiness::Verdict> Readiness::check() const {
  std::vector<Verdict> verdicts;
  for (const Check& check : checks_) {
    Verdict verdict{.name = check.name, .trouble = {}, .counts = check.counts};
    try {
      verdict.trouble = check.run();
    } catch (const Error& error) {
      // Only the error's name: its text may show where the store is.
      verdict.trouble = error.name();
    } catch (const std::exception&) { verdict.trouble = "the check itself failed"; }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

bool Readiness::hangs(Clock::time_point now) const { return asked_ && now - begun_ >= patience - slack; }

bool Readiness::ask(const std::shared_ptr<Signal>& done) const {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (stopping_ || hangs(now) || (!asked_ && !last_.empty() && now - checked_at_ < reused_for)) { return true; }
  if (!std::exchange(asked_, true)) { begun_ = now; }
  std::erase_if(waiting_, [](const std::weak_ptr<Signal>& each) { return each.expired(); });
  waiting_.push_back(done);
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
  return false;
}

std::vector<Readiness::Verdict> Readiness::verdicts() const {
  const std::lock_guard lock(mutex_);
  if (!hangs(Clock::now()) && !last_.empty()) { return last_; }
  std::vector<Verdict> verdicts;
  for (const Check& check : checks_) { verdicts.push_back({.name = check.name, .trouble = "does not answer"}); }
  return verdicts;
}

bool Readiness::stop(Duration at_most) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  return changed_.wait_for(lock, at_most, [this] { return ended_ || !thread_.joinable(); });
}

void Readiness::run() const {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || asked_; });
    if (stopping_) { break; }
    lock.unlock();
    std::vector<Verdict> verdicts = check();
    lock.lock();
    last_ = std::move(verdicts);
    checked_at_ = Clock::now();
    asked_ = false;
    const std::vector<std::weak_ptr<Signal>> waiting = std::exchange(waiting_, {});
    lock.unlock();
    for (const std::weak_ptr<Signal>& each : waiting) {
      if (const std::shared_ptr<Signal> signal = each.lock()) { signal->raise(); }
    }
    lock.lock();
  }
  ended_ = true;
  changed_.notify_all();
}

}  // namespace hapax::http
