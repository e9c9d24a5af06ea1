#include "store/sqlite/writer.hpp"

#include "base/fault.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "store/sqlite/schema.hpp"

#include <hapax/error.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

namespace hapax::store::sqlite {

namespace {

int note_wal_pages(void* pages, sqlite3* /*db*/, const char* /*name*/, int count) {
  static_cast<std::atomic<int>*>(pages)->store(count, std::memory_order_relaxed);
  return SQLITE_OK;
}

// A frame of the log is a header and one page. See https://sqlite.org/fileformat2.html, 4.1.
constexpr sqlite3_int64 log_header_bytes = 32;
constexpr sqlite3_int64 frame_bytes = 24 + 4096;
// A process that writes fewer pages than this, as most commands of the CLI do, leaves the log's length alone.
constexpr int few_pages = 64;
// More than a commit of one task needs.
constexpr int pages_ahead = 32;

// Whether the file may grow to `bytes`, and the disk has more than four times as much space left.
bool has_room(const std::string& path, sqlite3_int64 bytes) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < static_cast<rlim_t>(bytes)) { return false; }
  std::error_code error;
  const auto space = std::filesystem::space(std::filesystem::absolute(path).parent_path(), error);
  return !error && space.available > 4 * static_cast<std::uintmax_t>(bytes);
}

// A commit to a file that no path leads to would be lost with the process, so it is not acknowledged (decision 50).
std::string lost_file(const std::string& path, const std::string& change) {
  return "SQLite store " + path + ": the file " + change + " while it is in use; put it back, or start hapax again";
}

constexpr Duration short_patience = std::chrono::milliseconds(100);
constexpr const char* write_transaction_begin_sql = "BEGIN IMMEDIATE";
constexpr const char* savepoint_sql = "SAVEPOINT hapax_share";
constexpr const char* release_sql = "RELEASE hapax_share";
constexpr const char* session_sql = "SELECT worker, expires_at FROM sessions WHERE id = ?";
constexpr const char* commit_sql = "COMMIT";
// A shared commit takes no more members after this many, or after this long: its first member has waited long enough.
constexpr int shared_members_max = 32;
constexpr std::chrono::milliseconds shared_patience(5);
// The pause between two tries for a lock that a foreign connection holds.
constexpr std::chrono::milliseconds first_busy_pause(1);
constexpr std::chrono::milliseconds longest_busy_pause(20);

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
  // A command that only looks for a store must not turn another program's database into one.
  if (options.must_exist && schema_version(db_) == 0) { refuse_missing(db_.path(), "the file has no hapax tables"); }
  file_.note(db_.path());
  db_.set_up_writer();
  schema_ = schema_version(db_);
  if (options.migrate != Migrate::no && schema_ < newest_schema) { schema_ = migrate(db_, 0, clock_.now()).to; }
  check_schema(db_, schema_);
  sqlite3_wal_hook(db_.handle(), note_wal_pages, &wal_pages_);
  sqlite3_busy_handler(db_.handle(), keep_waiting, this);
}

int Writer::keep_waiting(void* writer, int tries) {
  const auto left = static_cast<Writer*>(writer)->busy_until_ - std::chrono::steady_clock::now();
  if (left <= std::chrono::steady_clock::duration::zero()) { return 0; }
  const auto pause = std::clamp(tries * first_busy_pause, first_busy_pause, longest_busy_pause);
  std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(left, pause));
  return 1;
}

Writer::~Writer() {
  if (::getpid() != process_) {
    db_.abandon();
    return;
  }
  // Closing the last connection checkpoints, which needs the lock file; without it, the next process that opens the
  // store reads the log. If another file has taken this one's path, the log beside it belongs to that file, and a
  // checkpoint at closing would remove it.
  if (!lock_.try_acquire() || !file_.change().empty()) { db_.leave_wal_alone(); }
}

void Writer::check_process() const {
  if (base::process_id() != process_) {
    throw UsageError("this store was opened before fork(); open it again in the child");
  }
}

void Writer::enter(Duration patience) {
  check_process();
  if (lent_to_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
    throw UsageError(
        "the store was called inside a transaction that it lent to this thread; use the transaction's own calls");
  }
  const auto begun = std::chrono::steady_clock::now();
  Duration waited{0};
  if (!mutex_.try_lock()) {
    waiting_.fetch_add(1);
    mutex_.lock();
    waiting_.fetch_sub(1);
    waited = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begun);
  }
  busy_until_ = begun + std::max(patience, waited + patience / 10);
  if (shared_) { return; }  // the thread before has left the lock file locked
  try {
    lock_.acquire(patience, waited);
  } catch (...) {
    mutex_.unlock();
    throw;
  }
}

void Writer::leave() {
  if (shared_) {
    const bool full =
        shared_->members >= shared_members_max || std::chrono::steady_clock::now() - shared_->began > shared_patience;
    static const bool plain = base::takes_plain_path("sqlite-shared-commit");
    // No thread may join a transaction that SQLite has rolled back.
    if (!plain && waiting_.load() > 0 && !full && in_transaction()) {
      mutex_.unlock();
      return;
    }
    settle_shared();
  }
  lock_.release();
  mutex_.unlock();
}

void Writer::settle_shared() {
  if (!shared_) { return; }
  const std::shared_ptr<SharedCommit> shared = std::move(shared_);
  shared_ = nullptr;
  try {
    // Some errors of one member make SQLite roll back the whole transaction.
    if (!in_transaction()) {
      throw StoreUnavailable("SQLite store " + base::echo(path()) +
                             ": a transaction was rolled back by another's error");
    }
    commit();
  } catch (...) {
    shared->error = std::current_exception();
    if (in_transaction()) { sqlite3_exec(db_.handle(), "ROLLBACK", nullptr, nullptr, nullptr); }
  }
  shared->done.set_and_wake_all(SharedCommit::over);
  if (!shared->error) { checkpoint_if_due(); }
}

bool Writer::in_transaction() const { return sqlite3_get_autocommit(db_.handle()) == 0; }

void Writer::commit() {
  if (const std::string change = file_.change(); !change.empty()) {
    throw StoreUnavailable(lost_file(path(), change) + "; nothing was kept");
  }
  grow_log();
  Cursor cursor = db_.use(commit_sql);
  int code = SQLITE_OK;
  {
    const GatheredLog gathered(db_.handle());
    code = sqlite3_step(db_.prepared(commit_sql).handle());
  }
  if (code == SQLITE_DONE) {
    // The file may have been moved while the commit was written.
    if (const std::string change = file_.change(); !change.empty()) {
      throw CommitUnknown(lost_file(path(), change) +
                          "; whether the commit is in the file that was moved is not known");
    }
    return;
  }
  const int extended = sqlite3_extended_errcode(db_.handle());
  const std::string message = sqlite3_errmsg(db_.handle());
  cursor.reset();
  // SQLite rolls back by itself after some errors; then nothing is left to do.
  sqlite3_exec(db_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  if (extended == SQLITE_IOERR_FSYNC) {
    throw CommitUnknown("SQLite store " + base::echo(path()) + ": the disk failed to sync a commit (" + message + ")");
  }
  db_.fail(extended, "committing");
}

std::int64_t Writer::foreign_version() {
  check_process();
  const std::lock_guard guard(mutex_);
  busy_until_ = std::chrono::steady_clock::now() + busy_timeout_;
  Cursor cursor = db_.use("PRAGMA data_version");
  return cursor.next() ? cursor.integer(0) : 0;
}

// An open reader keeps the log from being recycled. Then the next try waits for as many pages again, as each try costs
// two syncs. A failed checkpoint (a full disk) loses nothing: the log still has every commit.
void Writer::checkpoint_if_due() {
  if (wal_pages() < next_checkpoint_pages_) { return; }
  int in_log = 0;
  int moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(db_.handle(), "main", SQLITE_CHECKPOINT_PASSIVE, &in_log, &moved);
  const bool recycled = code == SQLITE_OK && moved == in_log;
  next_checkpoint_pages_ = recycled ? checkpoint_pages : wal_pages() + checkpoint_pages;
}

// The log file and its length; null when the length cannot be read, which ends the lengthening for this process.
sqlite3_file* Writer::log_file(sqlite3_int64& size) {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(db_.handle(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK || file == nullptr ||
      file->pMethods == nullptr || file->pMethods->xFileSize(file, &size) != SQLITE_OK) {
    log_may_grow_ = false;
    return nullptr;
  }
  log_bytes_ = size;
  return file;
}

// Called inside a transaction, so that SQLite's own lock keeps every other writer out, foreign ones too. Writes only
// behind the end of the file, where no frame can be. If the disk is full or the file may not grow, this process stops
// lengthening the log, so that commits get the space that is left.
bool Writer::lengthen(sqlite3_file* file, sqlite3_int64 size, sqlite3_int64 by) {
  // Written in pieces: SQLite's files take less than 128 KiB at a time.
  static const std::vector<char> zeros(64 << 10);
  const auto piece = static_cast<int>(zeros.size());
  for (sqlite3_int64 written = 0; written < by; written += piece) {
    if (file->pMethods->xWrite(file, zeros.data(), piece, size + written) != SQLITE_OK) {
      log_may_grow_ = false;
      static_cast<void>(file->pMethods->xTruncate(file, size));
      return false;
    }
  }
  log_bytes_ = size + by;
  return true;
}

void Writer::grow_log() {
  const sqlite3_int64 wanted = log_header_bytes + (wal_pages() + pages_ahead) * frame_bytes;
  if (!log_may_grow_ || wal_pages() < few_pages || wanted <= log_bytes_) { return; }
  sqlite3_int64 size = 0;
  sqlite3_file* const file = log_file(size);
  if (file != nullptr && wanted > size) { static_cast<void>(lengthen(file, size, log_step_bytes)); }
}

void Writer::fill_log() {
  constexpr sqlite3_int64 wanted = log_header_bytes + (checkpoint_pages + 4 * pages_ahead) * frame_bytes;
  if (!log_may_grow_ || !has_room(db_.path(), wanted)) { return; }
  sqlite3_int64 size = 0;
  sqlite3_file* const file = log_file(size);
  if (file == nullptr || wanted <= size) { return; }
  if (!lengthen(file, size, wanted - size)) {
    log_may_grow_ = true;  // a smaller step may still fit
    return;
  }
  // Without this sync the first commit would have to sync the zeros. If it fails, that commit reports the error.
  static_cast<void>(file->pMethods->xSync(file, SQLITE_SYNC_NORMAL));
}

WriteTransaction::WriteTransaction(Writer& writer, Begin begin) : writer_(writer), queues_(writer.db_) {
  begin == Begin::if_free ? writer_.enter(short_patience) : writer_.enter();
  entered_ = true;
  try {
    this->begin(begin);
  } catch (...) {
    leave();
    throw;
  }
}

void WriteTransaction::begin(Begin begin) {
  if (begin != Begin::shared) { writer_.settle_shared(); }
  joined_ = writer_.shared_ != nullptr;
  db().use(joined_ ? savepoint_sql : write_transaction_begin_sql).run();
  open_ = true;
  now_ = writer_.clock().now();
}

WriteTransaction::~WriteTransaction() {
  take_back();
  roll_back();
  leave();
}

void WriteTransaction::leave() {
  if (std::exchange(entered_, false)) { writer_.leave(); }
}

const std::optional<WriteTransaction::SessionRow>& WriteTransaction::session_row(const Uuid& session) {
  const auto known =
      std::find_if(sessions_.begin(), sessions_.end(), [&](const auto& one) { return one.first == session; });
  if (known != sessions_.end()) { return known->second; }
  Cursor cursor = db().use(session_sql);
  cursor.bind(session);
  sessions_.emplace_back(session,
                         cursor.next() ? std::optional(SessionRow{cursor.string(0), cursor.time(1)}) : std::nullopt);
  return sessions_.back().second;
}

const std::string* WriteTransaction::worker_of(const Uuid& session) {
  const auto& row = session_row(session);
  return row ? &row->worker : nullptr;
}

bool WriteTransaction::is_live(const Uuid& session) {
  const auto& row = session_row(session);
  return row && row->expires_at > now_;
}

void WriteTransaction::note_woken(std::int64_t queue_id) {
  if (std::find(woken_.rbegin(), woken_.rend(), queue_id) == woken_.rend()) { woken_.push_back(queue_id); }
}

std::vector<model::QueueRef> WriteTransaction::woken() {
  std::vector<model::QueueRef> queues;
  for (const std::int64_t id : woken_) { queues.push_back(queues_.by_id(id).ref); }
  return queues;
}

void WriteTransaction::commit(const char* fault_before, const char* fault_after) {
  expiries_.write(db());
  if (fault_before != nullptr) {
    try {
      base::fault_point(fault_before);
    } catch (const base::FaultInjected& fault) { throw StoreUnavailable(fault.what()); }
  }
  const std::shared_ptr<SharedCommit> shared = writer_.shared_ ? writer_.shared_ : std::make_shared<SharedCommit>();
  if (joined_) { db().use(release_sql).run(); }
  open_ = false;
  writer_.shared_ = shared;
  ++shared->members;
  leave();
  shared->done.wait_while(SharedCommit::open);
  if (shared->error) { std::rethrow_exception(shared->error); }
  if (fault_after != nullptr) {
    try {
      base::fault_point(fault_after);
    } catch (const base::FaultInjected& fault) { throw CommitUnknown(fault.what()); }
  }
}

void WriteTransaction::roll_back() {
  if (!open_) { return; }
  open_ = false;
  // SQLite rolls back by itself after some errors; then nothing is left to do.
  if (!writer_.in_transaction()) { return; }
  if (joined_ && sqlite3_exec(db().handle(), "ROLLBACK TO hapax_share; RELEASE hapax_share", nullptr, nullptr,
                              nullptr) == SQLITE_OK) {
    return;
  }
  sqlite3_exec(db().handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void WriteTransaction::lend() {
  lent_ = true;
  writer_.lent_to_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  sqlite3_commit_hook(
      db().handle(), [](void*) { return 1; }, nullptr);
  sqlite3_rollback_hook(
      db().handle(), [](void* ended) { *static_cast<bool*>(ended) = true; }, &ended_by_caller_);
}

void WriteTransaction::take_back() {
  if (lent_) {
    lent_ = false;
    writer_.lent_to_.store(std::thread::id(), std::memory_order_relaxed);
    sqlite3_commit_hook(db().handle(), nullptr, nullptr);
    sqlite3_rollback_hook(db().handle(), nullptr, nullptr);
    // A statement that the caller's function has not stepped to its end would make every later COMMIT fail.
    for (sqlite3_stmt* statement = sqlite3_next_stmt(db().handle(), nullptr); statement != nullptr;
         statement = sqlite3_next_stmt(db().handle(), statement)) {
      if (sqlite3_stmt_busy(statement) != 0) { sqlite3_reset(statement); }
    }
  }
}

}  // namespace hapax::store::sqlite
