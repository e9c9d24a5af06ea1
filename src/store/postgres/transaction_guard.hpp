// An explicit transaction of several round trips: rolled back unless it was committed. Begin and commit each cost a
// round trip, unless they travel in the first and the last pipeline.
#pragma once

#include "store/postgres/connection.hpp"
#include "store/postgres/sql_error.hpp"

namespace hapax::store::postgres {

class TransactionGuard {
 public:
  explicit TransactionGuard(Connection& connection) : connection_(connection) { connection_.begin(); }
  // For a transaction whose begin_call() is the first call that is sent next.
  struct Pipelined {};
  TransactionGuard(Connection& connection, Pipelined) : connection_(connection) {}
  ~TransactionGuard() {
    if (done_ || connection_.is_broken() || !connection_.in_transaction()) { return; }
    try {
      connection_.command("ROLLBACK");
    } catch (const SqlError&) { connection_.give_up(); } catch (const ConnectionBroken&) {
      connection_.give_up();
    }
  }
  TransactionGuard(const TransactionGuard&) = delete;
  TransactionGuard& operator=(const TransactionGuard&) = delete;

  void commit() {
    connection_.command("COMMIT");
    done_ = true;
  }
  // Records that commit_call() was the last call of a pipeline that succeeded.
  void committed() { done_ = true; }

  [[nodiscard]] static Call begin_call() {
    static constexpr Statement begin{"hapax_begin", "BEGIN ISOLATION LEVEL READ COMMITTED"};
    return {&begin, Params()};
  }
  [[nodiscard]] static Call commit_call() {
    static constexpr Statement commit{"hapax_commit", "COMMIT"};
    return {&commit, Params()};
  }

 private:
  Connection& connection_;
  bool done_ = false;
};

}  // namespace hapax::store::postgres
