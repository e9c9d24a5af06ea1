// WriteTransaction: BEGIN IMMEDIATE … COMMIT on the writer's connection, with the caches that a verb needs inside.
//
// Cost per verb: BEGIN, COMMIT, and one fdatasync of the log if anything was changed. Transactions that share a commit
// have these once together, and a SAVEPOINT and a RELEASE each. Owned and used by one thread; rolls back when destroyed
// without commit().
#pragma once

#include "store/sqlite/queue_table.hpp"
#include "store/sqlite/writer.hpp"

#include <string>
#include <utility>
#include <vector>

namespace hapax::store::sqlite {

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
  void note_expiry(const Uuid& id, Time expires_at);
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
  void write_expiries();

  Writer& writer_;
  Time now_;
  QueueTable queues_;
  bool entered_ = false;
  bool open_ = false;
  bool joined_ = false;  // in a shared commit, behind a savepoint of its own
  bool lent_ = false;
  bool ended_by_caller_ = false;
  std::vector<std::pair<Uuid, std::optional<SessionRow>>> sessions_;
  std::vector<std::pair<std::int64_t, std::int64_t>> expiries_;
  std::vector<std::int64_t> woken_;  // ids
};

}  // namespace hapax::store::sqlite
