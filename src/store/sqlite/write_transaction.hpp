// WriteTransaction: BEGIN IMMEDIATE … COMMIT on the writer, with what a verb needs inside it.
//
// Costs a verb, whatever it does: BEGIN, COMMIT, one fdatasync of the log if anything was changed, none otherwise; those
// who share a commit have these once, and a SAVEPOINT and a RELEASE each. Owned and used by one thread; rolls back when it
// goes without commit().
#pragma once

#include "store/sqlite/queue_table.hpp"
#include "store/sqlite/writer.hpp"

#include <string>
#include <utility>
#include <vector>

namespace hapax::store::sqlite {

class WriteTransaction {
 public:
  // alone: does not begin within a shared commit, as those in it would wait for a long piece of work. if_free: the same, of
  // what is not worth a long wait; StoreBusy comes soon.
  enum class Begin : std::uint8_t { shared, alone, if_free };
  explicit WriteTransaction(Writer& writer, Begin begin = Begin::shared);
  ~WriteTransaction();
  WriteTransaction(const WriteTransaction&) = delete;
  WriteTransaction& operator=(const WriteTransaction&) = delete;

  [[nodiscard]] Connection& db() { return writer_.db_; }
  // The same instant for all that happens in the transaction.
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] QueueTable& queues() { return queues_; }
  // The label of a session's worker; null when there is no such session.
  [[nodiscard]] const std::string* worker_of(const Uuid& session);
  // Whether the session is there and its lease lasts.
  [[nodiscard]] bool is_live(const Uuid& session);
  // Retention is to find this finished execution when its time is over.
  void note_expiry(const Uuid& id, Time expires_at);
  // Something in the queue has become due that its worker does not know of.
  void note_woken(std::int64_t queue_id);
  // The queues so noted. 1 SELECT for each that was not looked at yet.
  [[nodiscard]] std::vector<model::QueueRef> woken();

  // Returns when it is on the disk. Throws, having changed nothing; or CommitUnknown. The names are base::fault_point's;
  // null for none.
  void commit(const char* fault_before = nullptr, const char* fault_after = nullptr);

  // The log gets the length that it has between checkpoints, so that no commit has to wait until it is longer.
  void fill_log() { writer_.fill_log(); }

  // While a caller's function has the connection: its thread may not enter the writer, and only commit() can commit.
  void lend();
  void take_back();
  // The caller's function has ended the transaction by its own COMMIT (which is refused) or ROLLBACK.
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
  bool joined_ = false;  // behind a savepoint, in a shared commit
  bool lent_ = false;
  bool ended_by_caller_ = false;
  std::vector<std::pair<Uuid, std::optional<SessionRow>>> sessions_;
  std::vector<std::pair<std::int64_t, std::int64_t>> expiries_;
  std::vector<std::int64_t> woken_;  // ids
};

}  // namespace hapax::store::sqlite
