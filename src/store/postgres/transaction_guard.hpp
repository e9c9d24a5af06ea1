// An explicit transaction of several round trips: rolled back unless it was committed.
#pragma once

#include "store/postgres/connection.hpp"
#include "store/postgres/sql_error.hpp"

namespace hapax::store::postgres {

class TransactionGuard {
 public:
  explicit TransactionGuard(Connection& connection) : connection_(connection) { connection_.command("BEGIN"); }
  ~TransactionGuard() {
    if (done_ || connection_.is_broken()) { return; }
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

 private:
  Connection& connection_;
  bool done_ = false;
};

}  // namespace hapax::store::postgres
