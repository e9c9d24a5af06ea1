// Writer: the one connection of a process that writes and checkpoints.
//
// Any thread may ask for it; a mutex gives it to one at a time, the lock file to one process at a time. While a
// transaction is lent to a caller's function, that function's thread may not ask again: it would wait for itself, so it
// gets UsageError. A forked child gets UsageError too: connections do not survive a fork.
//
// Those who come while others are waiting share one COMMIT and its sync (docs/decisions/0022): who is done leaves its
// work in the open transaction to the next, each behind a savepoint of its own, and the last commits for all. Nobody is
// answered before that.
#pragma once

#include "store/open.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/file_identity.hpp"
#include "store/sqlite/file_lock.hpp"

#include "base/futex.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include <sys/types.h>

namespace hapax::store::sqlite {

// Machine time plus the tests' offset.
class StoreClock {
 public:
  explicit StoreClock(std::shared_ptr<const std::atomic<std::int64_t>> offset_us) : offset_us_(std::move(offset_us)) {}
  [[nodiscard]] Time now() const;

 private:
  std::shared_ptr<const std::atomic<std::int64_t>> offset_us_;
};

// Pages in the write-ahead log above which the next commit moves them into the database file. Overwriting a recycled
// log syncs almost twice as fast as growing one, so it is kept short; but each checkpoint costs two syncs of its own.
inline constexpr int checkpoint_pages = 4000;

// For the same reason the log is filled with zeros ahead of what is written, this much at a time, once a process has
// written more than a few commits; all of it at once before a worker's first work. SQLite takes such a tail for what it
// is: no frames.
inline constexpr int log_step_bytes = 256 << 10;

// Work that shares one COMMIT. It is over when `done` is set; `error` says why nothing of it was kept, or that it is
// not known.
struct SharedCommit {
  static constexpr std::uint32_t open = 0;
  static constexpr std::uint32_t over = 1;

  base::FutexWord done{open};
  std::exception_ptr error;
  int members = 0;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

class Writer {
 public:
  // Opens the file, sets it up and brings its schema up to date, or throws as open_sqlite says.
  Writer(const std::string& path, const OpenOptions& options);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  [[nodiscard]] const StoreClock& clock() const { return clock_; }
  [[nodiscard]] const std::string& path() const { return db_.path(); }
  [[nodiscard]] int schema() const { return schema_; }
  // Throws UsageError in a forked child.
  void check_process() const;
  // Changes whenever another process has committed. Waits for the writer, at most for one transaction.
  [[nodiscard]] std::int64_t foreign_version();
  [[nodiscard]] int wal_pages() const { return wal_pages_.load(std::memory_order_relaxed); }

 private:
  friend class WriteTransaction;

  // The connection is the caller's until leave(), which whoever has entered must call. After enter() there may be a
  // shared commit under way, which the caller may join or settle.
  void enter() { enter(busy_timeout_); }
  void enter(Duration patience);
  // Leaves an open shared commit to the next who waits, or settles it.
  void leave();
  void settle_shared();
  [[nodiscard]] bool in_transaction() const;
  // COMMIT of what is open on the connection; throws as WriteTransaction::commit says.
  void commit();
  void checkpoint_if_due();
  void grow_log();
  void fill_log();
  [[nodiscard]] sqlite3_file* log_file(sqlite3_int64& size);
  // At least so many zeros behind `size`, where the file ends; false when it can have no more.
  [[nodiscard]] bool lengthen(sqlite3_file* file, sqlite3_int64 size, sqlite3_int64 by);
  void set_up(const OpenOptions& options);
  // Called back by SQLite while somebody else's connection holds its lock. Whoever entered has waited from then on, for
  // the mutex too: all who wait together are refused together, and not each after the one before it.
  static int keep_waiting(void* writer, int tries);

  StoreClock clock_;
  Duration busy_timeout_;
  std::chrono::steady_clock::time_point busy_until_{};  // guarded by mutex_
  pid_t process_;
  FileLock lock_;
  FileIdentity file_;
  std::mutex mutex_;
  std::atomic<int> waiting_{0};           // for mutex_, in enter()
  std::shared_ptr<SharedCommit> shared_;  // guarded by mutex_
  Connection db_;
  int schema_ = 0;
  std::atomic<int> wal_pages_{0};
  int next_checkpoint_pages_ = checkpoint_pages;
  sqlite3_int64 log_bytes_ = 0;  // the log file is at least this long
  bool log_may_grow_ = true;
  std::atomic<std::thread::id> lent_to_{};
};

}  // namespace hapax::store::sqlite
