// Writer: the one connection of a process that writes and checkpoints; and its transactions.
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
#include "store/sqlite/database_file.hpp"
#include "store/sqlite/queue_table.hpp"
#include "store/sqlite/retention.hpp"

#include "base/futex.hpp"
#include "base/plain_path.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

// For the same reason the log is filled with zeros ahead of its frames: by this much at a time once a process has
// written 64 pages, and to its full length before a worker's first work. SQLite finds no frames in the zeros.
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
  bool log_may_grow_ = !base::takes_plain_path("sqlite-log-filling");
  std::atomic<std::thread::id> lent_to_{};
};

// WriteTransaction: BEGIN IMMEDIATE … COMMIT on the writer's connection, with the caches that a verb needs inside.
//
// Cost per verb: BEGIN, COMMIT, and one fdatasync of the log if anything was changed. Transactions that share a commit
// have these once together, and a SAVEPOINT and a RELEASE each. Owned and used by one thread; rolls back when destroyed
// without commit().
class WriteTransaction {
 public:
  // alone: does not join a shared commit, whose other members would wait for a long piece of work. if_free: like alone,
  // for work that is not worth a long wait: throws StoreBusy after 100 ms.
  enum class Begin : std::uint8_t { shared, alone, if_free };
  explicit WriteTransaction(Writer& writer, Begin begin = Begin::shared);
  ~WriteTransaction();
  WriteTransaction(const WriteTransaction&) = delete;
  WriteTransaction& operator=(const WriteTransaction&) = delete;

  [[nodiscard]] Connection& db() { return writer_.db_; }
  // One instant for everything in the transaction.
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] QueueTable& queues() { return queues_; }
  // The label of a session's worker; null when there is no such session.
  [[nodiscard]] const std::string* worker_of(const Uuid& session);
  // Whether the session exists and its lease is not over.
  [[nodiscard]] bool is_live(const Uuid& session);
  // Notes when this finished execution expires, so that retention finds it.
  void note_expiry(const Uuid& id, Time expires_at) { expiries_.add(id, expires_at); }
  // Notes that an execution of the queue has become due without its worker knowing.
  void note_woken(std::int64_t queue_id);
  // The queues noted by note_woken(). 1 SELECT for each queue that the transaction has not read yet.
  [[nodiscard]] std::vector<model::QueueRef> woken();

  // Returns when the transaction is on the disk. Throws, having changed nothing, or throws CommitUnknown. The names are
  // those of base::fault_point; null: none.
  void commit(const char* fault_before = nullptr, const char* fault_after = nullptr);

  // Fills the log to the length that it has between checkpoints, so that no commit has to wait for the file to grow.
  void fill_log() { writer_.fill_log(); }

  // Between lend() and take_back() a caller's function has the connection: its thread may not enter the writer, and
  // only commit() can commit.
  void lend();
  void take_back();
  // Whether the caller's function ended the transaction by its own COMMIT (which is refused) or ROLLBACK.
  [[nodiscard]] bool ended_by_caller() const { return ended_by_caller_; }

 private:
  struct SessionRow {
    std::string worker;
    Time expires_at{};
  };

  const std::optional<SessionRow>& session_row(const Uuid& session);
  void begin(Begin begin);
  void roll_back();
  void leave();

  Writer& writer_;
  Time now_;
  QueueTable queues_;
  bool entered_ = false;
  bool open_ = false;
  bool joined_ = false;  // in a shared commit, behind a savepoint of its own
  bool lent_ = false;
  bool ended_by_caller_ = false;
  std::vector<std::pair<Uuid, std::optional<SessionRow>>> sessions_;
  ExpiryNotes expiries_;
  std::vector<std::int64_t> woken_;  // ids
};

}  // namespace hapax::store::sqlite
