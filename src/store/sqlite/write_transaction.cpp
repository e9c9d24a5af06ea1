#include "store/sqlite/write_transaction.hpp"

#include "store/sqlite/retention.hpp"

#include "base/fault.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <utility>

namespace hapax::store::sqlite {

namespace {

constexpr Duration short_patience = std::chrono::milliseconds(100);
constexpr const char* write_transaction_begin_sql = "BEGIN IMMEDIATE";
constexpr const char* savepoint_sql = "SAVEPOINT hapax_share";
constexpr const char* release_sql = "RELEASE hapax_share";
constexpr const char* session_sql = "SELECT worker, expires_at FROM sessions WHERE id = ?";
constexpr const char* expiry_sql = "INSERT OR IGNORE INTO expiries(expiry_hour, id_hour) VALUES (?, ?)";

}  // namespace

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

void WriteTransaction::note_expiry(const Uuid& id, Time expires_at) {
  const std::pair<std::int64_t, std::int64_t> place(expiry_hour(expires_at), id_hour(id));
  if (std::find(expiries_.rbegin(), expiries_.rend(), place) == expiries_.rend()) { expiries_.push_back(place); }
}

void WriteTransaction::note_woken(std::int64_t queue_id) {
  if (std::find(woken_.rbegin(), woken_.rend(), queue_id) == woken_.rend()) { woken_.push_back(queue_id); }
}

std::vector<model::QueueRef> WriteTransaction::woken() {
  std::vector<model::QueueRef> queues;
  for (const std::int64_t id : woken_) { queues.push_back(queues_.by_id(id).ref); }
  return queues;
}

void WriteTransaction::write_expiries() {
  for (const auto& [expiry, id] : expiries_) { db().use(expiry_sql).bind(expiry, id).run(); }
  expiries_.clear();
}

void WriteTransaction::commit(const char* fault_before, const char* fault_after) {
  write_expiries();
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
