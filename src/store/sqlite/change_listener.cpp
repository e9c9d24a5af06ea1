#include "store/sqlite/change_listener.hpp"

#include <hapax/error.hpp>

#include <algorithm>

namespace hapax::store::sqlite {

namespace {

constexpr Duration busy_timeout = std::chrono::seconds(10);

std::int64_t data_version(Connection& db) {
  Cursor cursor = db.use("PRAGMA data_version");
  return cursor.next() ? cursor.integer(0) : 0;
}

}  // namespace

ChangeListener::ChangeListener(Writer& writer)
    : writer_(writer),
      db_(writer.path(), Connection::Mode::reader, busy_timeout),
      last_change_(std::chrono::steady_clock::now()) {
  seen_foreign_ = writer_.foreign_version();
  seen_ = data_version(db_);
}

ChangeListener::~ChangeListener() {
  try {
    writer_.check_process();
  } catch (const UsageError&) { db_.abandon(); }
}

// This listener's connection sees every commit, also those of its own process. Only the writer's connection tells
// commits of other processes apart, so it is asked after a commit was seen.
bool ChangeListener::changed() {
  writer_.check_process();
  const std::int64_t version = data_version(db_);
  if (version == seen_) { return false; }
  seen_ = version;
  const std::int64_t foreign = writer_.foreign_version();
  if (foreign == seen_foreign_) { return false; }
  seen_foreign_ = foreign;
  last_change_ = std::chrono::steady_clock::now();
  return true;
}

bool ChangeListener::wait(Duration at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  std::unique_lock lock(mutex_);
  while (true) {
    if (interrupted_) {
      interrupted_ = false;
      return false;
    }
    lock.unlock();
    const bool told = changed();
    lock.lock();
    if (told) { return true; }
    const auto now = std::chrono::steady_clock::now();
    if (now >= until) { return false; }
    const auto quiet = std::chrono::duration_cast<Duration>(now - last_change_);
    const Duration pause = std::clamp(quiet / poll_fraction, shortest_poll, longest_poll);
    condition_.wait_until(lock, std::min(now + pause, until), [this] { return interrupted_; });
  }
}

void ChangeListener::interrupt() {
  const std::lock_guard guard(mutex_);
  interrupted_ = true;
  condition_.notify_all();
}

}  // namespace hapax::store::sqlite
