// Writer: the one connection of a process that writes and checkpoints.
//
// Any thread may enter: a mutex admits one thread at a time, the lock file one process at a time. While a transaction
// is lent to a caller's function, that function's thread gets UsageError, as it would wait for itself. A forked child
// gets UsageError too: connections do not survive a fork.
//
// Threads that write at the same time share one COMMIT and its sync (decision 22). A thread that is done while another
// waits leaves its work in the open transaction; the next thread works behind a savepoint of its own; the last one
// commits for all. No caller is answered before that commit.
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

// The machine's time plus the tests' offset.
class StoreClock {
 public:
  explicit StoreClock(std::shared_ptr<const std::atomic<std::int64_t>> offset_us) : offset_us_(std::move(offset_us)) {}
  [[nodiscard]] Time now() const;

 private:
  std::shared_ptr<const std::atomic<std::int64_t>> offset_us_;
};

// Above this many pages in the write-ahead log, a commit is followed by a checkpoint, which moves them into the
// database file. Overwriting a recycled log syncs almost twice as fast as growing one, so the log is kept short; but
// each checkpoint costs two syncs of its own.
inline constexpr int checkpoint_pages = 4000;

// For the same reason the log is filled with zeros ahead of its frames, by this much at a time once a process has
// written 64 pages, and to its full length before a worker's first work. SQLite reads such a tail as what it is: no
// frames.
inline constexpr int log_step_bytes = 256 << 10;

// The transactions that share one COMMIT. `done` is set when the COMMIT is over; `error` then says why nothing was
// kept, or that the outcome is unknown.
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
  // Opens the file, sets it up and, unless OpenOptions::migrate says no, migrates its schema. Throws as open_sqlite
  // says.
  Writer(const std::string& path, const OpenOptions& options);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  [[nodiscard]] const StoreClock& clock() const { return clock_; }
  [[nodiscard]] const std::string& path() const { return db_.path(); }
  [[nodiscard]] int schema() const { return schema_; }
  // Throws UsageError in a forked child.
  void check_process() const;
  // A number that changes whenever another process has committed. Waits for the writer, at most for one transaction.
  [[nodiscard]] std::int64_t foreign_version();
  [[nodiscard]] int wal_pages() const { return wal_pages_.load(std::memory_order_relaxed); }

 private:
  friend class WriteTransaction;

  // The connection is the caller's from enter() to leave(), which must follow. A shared commit may be open after
  // enter(); the caller joins it or settles it.
  void enter() { enter(busy_timeout_); }
  void enter(Duration patience);
  // Leaves an open shared commit to the next waiting thread, or settles it.
  void leave();
  void settle_shared();
  [[nodiscard]] bool in_transaction() const;
  // Commits the transaction that is open on the connection; throws as WriteTransaction::commit says.
  void commit();
  void checkpoint_if_due();
  void grow_log();
  void fill_log();
  [[nodiscard]] sqlite3_file* log_file(sqlite3_int64& size);
  // Appends at least `by` zeros at `size`, the end of the file; false when the file cannot grow.
  [[nodiscard]] bool lengthen(sqlite3_file* file, sqlite3_int64 size, sqlite3_int64 by);
  void set_up(const OpenOptions& options);
  // SQLite calls this while another connection holds its lock. A thread's waiting time includes its wait for
  // the mutex: threads that wait at the same time are refused at the same time, not one after the other.
  static int keep_waiting(void* writer, int tries);

  StoreClock clock_;
  Duration busy_timeout_;
  std::chrono::steady_clock::time_point busy_until_{};  // guarded by mutex_
  pid_t process_;
  FileLock lock_;
  FileIdentity file_;
  std::mutex mutex_;
  std::atomic<int> waiting_{0};           // threads that wait for mutex_ in enter()
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
