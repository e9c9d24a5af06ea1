// Transaction: a transaction of the store's own database in which the caller writes too.
//
// An execution enqueued in the transaction exists only if it commits (App::enqueue_in); a handler's outcome can be part
// of it (TaskContext::complete_in). On SQLite App::transaction lends one; on PostgreSQL the caller may also attach a
// connection with an open transaction (App::attach).
#pragma once

#include <memory>

namespace hapax {

namespace detail {
class AppState;
class ContextState;
struct TransactionState;
class WorkflowRun;
}  // namespace detail

// One thread may use a Transaction, and only while it is open. A Transaction never commits or rolls back by itself.
class Transaction {
 public:
  Transaction(Transaction&&) noexcept;
  Transaction& operator=(Transaction&&) noexcept;
  ~Transaction();

  // The database's own handle: Transaction::native<sqlite3>() or native<PGconn>().
  template <class Connection>
  [[nodiscard]] Connection* native() const {
    return static_cast<Connection*>(native_handle());
  }
  [[nodiscard]] void* native_handle() const;

  // For an attached connection: call this after the caller's COMMIT to wake workers at once; without it they find the
  // new executions at their next poll.
  void committed();

 private:
  friend class App;
  friend class TaskContext;
  friend class detail::AppState;
  friend class detail::WorkflowRun;
  explicit Transaction(std::unique_ptr<detail::TransactionState> state);

  std::unique_ptr<detail::TransactionState> state_;
};

}  // namespace hapax
