// Transaction: a transaction of the store's own database in which a caller writes too.
//
// What is enqueued in it exists only if it commits (App::enqueue_in); a handler's outcome can be part of it
// (TaskContext::complete_in). SQLite lends one (App::transaction); on PostgreSQL the caller brings the connection on which
// it is open (App::attach).
#pragma once

#include <memory>

namespace hapax {

namespace detail {
class AppState;
class ContextState;
struct TransactionState;
class WorkflowRun;
}  // namespace detail

// Used by one thread, while the transaction is open.
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

  // For an attached connection, after the caller's COMMIT: workers are woken at once instead of at their next look.
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
