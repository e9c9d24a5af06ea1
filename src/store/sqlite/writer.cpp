#include "store/sqlite/writer.hpp"

#include "store/sqlite/database_file.hpp"
#include "store/sqlite/schema.hpp"

#include <hapax/error.hpp>

#include <unistd.h>

namespace hapax::store::sqlite {

namespace {

int note_wal_pages(void* pages, sqlite3* /*db*/, const char* /*name*/, int count) {
  static_cast<std::atomic<int>*>(pages)->store(count, std::memory_order_relaxed);
  return SQLITE_OK;
}

}  // namespace

Time StoreClock::now() const {
  const Duration offset(offset_us_ ? offset_us_->load(std::memory_order_relaxed) : 0);
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()) + offset;
}

Writer::Writer(const std::string& path, const OpenOptions& options)
    : clock_(options.clock_offset_us),
      busy_timeout_(options.busy_timeout),
      process_(::getpid()),
      lock_(checked_path(path, options.must_exist)),
      db_(path, options.must_exist ? Connection::Mode::existing : Connection::Mode::writer, options.busy_timeout) {
  set_up(options);
}

void Writer::set_up(const OpenOptions& options) {
  const Locked locked(lock_, busy_timeout_);
  set_up_writer(db_);
  schema_ = schema_version(db_);
  if (options.migrate != Migrate::no && schema_ < newest_schema) { schema_ = migrate(db_, 0, clock_.now()).to; }
  check_schema(db_, schema_);
  sqlite3_wal_hook(db_.handle(), note_wal_pages, &wal_pages_);
}

Writer::~Writer() {
  if (::getpid() != process_) {
    db_.abandon();
    return;
  }
  // Closing the last connection checkpoints, and that needs the lock; without it the next opener reads the log.
  if (!lock_.try_acquire()) { db_.leave_wal_alone(); }
}

void Writer::check_process() const {
  if (::getpid() != process_) { throw UsageError("this store was opened before fork(); open it again in the child"); }
}

void Writer::enter() {
  check_process();
  if (lent_to_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
    throw UsageError(
        "the store was called inside a transaction that it lent to this thread; use the transaction's own calls");
  }
  mutex_.lock();
  try {
    lock_.acquire(busy_timeout_);
  } catch (...) {
    mutex_.unlock();
    throw;
  }
}

void Writer::leave() {
  lock_.release();
  mutex_.unlock();
}

std::int64_t Writer::foreign_version() {
  check_process();
  const std::lock_guard guard(mutex_);
  Cursor cursor = db_.use("PRAGMA data_version");
  return cursor.next() ? cursor.integer(0) : 0;
}

// A reader in the way stops the log from being recycled; then the next try waits for as many pages again, as each costs
// two syncs. That a checkpoint fails (a full disk) takes nothing back: the log still has all that was committed.
void Writer::checkpoint_if_due() {
  if (wal_pages() < next_checkpoint_pages_) { return; }
  int in_log = 0;
  int moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(db_.handle(), "main", SQLITE_CHECKPOINT_PASSIVE, &in_log, &moved);
  const bool recycled = code == SQLITE_OK && moved == in_log;
  next_checkpoint_pages_ = recycled ? checkpoint_pages : wal_pages() + checkpoint_pages;
}

}  // namespace hapax::store::sqlite
