// WriteTransaction: BEGIN IMMEDIATE … COMMIT on the writer, with what a verb needs inside it.
//
// Costs a verb, whatever it does: BEGIN, COMMIT, one fdatasync of the log if anything was changed, none otherwise.
// Owned and used by one thread; rolls back when it goes without commit().
#pragma once

#include "store/sqlite/queue_table.hpp"
#include "store/sqlite/writer.hpp"

#include <string>
#include <utility>
#include <vector>

namespace hapax::store::sqlite {

class WriteTransaction {
 public:
  explicit WriteTransaction(Writer& writer);
  ~WriteTransaction();
  WriteTransaction(const WriteTransaction&) = delete;
  WriteTransaction& operator=(const WriteTransaction&) = delete;

  [[nodiscard]] Connection& db() { return writer_.db_; }
  // The same instant for all that happens in the transaction.
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] QueueTable& queues() { return queues_; }
  // The label of a session's worker; null when there is no such session.
  [[nodiscard]] const std::string* worker_of(const Uuid& session);
  // Retention is to find this finished execution when its time is over.
  void note_expiry(const Uuid& id, Time expires_at);
  // Something in the queue has become due that its worker does not know of.
  void note_woken(std::int64_t queue_id);
  // The queues so noted. 1 SELECT for each that was not looked at yet.
  [[nodiscard]] std::vector<model::QueueRef> woken();

  // Throws, having changed nothing; or CommitUnknown. The names are base::fault_point's; null for none.
  void commit(const char* fault_before = nullptr, const char* fault_after = nullptr);

  // While a caller's function has the connection: its thread may not enter the writer, and only commit() can commit.
  void lend();
  void take_back();
  // The caller's function has ended the transaction by its own COMMIT (which is refused) or ROLLBACK.
  [[nodiscard]] bool ended_by_caller() const { return ended_by_caller_; }

 private:
  void roll_back();
  void write_expiries();

  Writer& writer_;
  Time now_;
  QueueTable queues_;
  bool open_ = false;
  bool lent_ = false;
  bool ended_by_caller_ = false;
  std::vector<std::pair<Uuid, std::optional<std::string>>> workers_;
  std::vector<std::pair<std::int64_t, std::int64_t>> expiries_;
  std::vector<std::int64_t> woken_;  // ids
};

}  // namespace hapax::store::sqlite
