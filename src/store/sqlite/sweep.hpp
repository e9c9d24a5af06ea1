// One sweep, its savepoints, and the parts of it that sweep.cpp and retention.cpp share.
#pragma once

#include "base/limits.hpp"
#include "base/text.hpp"
#include "store/sqlite/sqlite_error.hpp"
#include "store/sqlite/verbs.hpp"

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace hapax::store::sqlite {

// Savepoint: a part of a write transaction that can be undone alone.
// The destructor undoes the part unless keep() was called. Savepoints nest: the last one made is destroyed first.
// Cursors made after a savepoint must be destroyed before it.
class Savepoint {
 public:
  explicit Savepoint(Connection& db) : db_(db) { db_.use("SAVEPOINT hapax_apart").run(); }
  ~Savepoint() {
    if (kept_ || sqlite3_get_autocommit(db_.handle()) != 0) { return; }
    sqlite3_exec(db_.handle(), "ROLLBACK TO hapax_apart; RELEASE hapax_apart", nullptr, nullptr, nullptr);
  }
  Savepoint(const Savepoint&) = delete;
  Savepoint& operator=(const Savepoint&) = delete;

  void keep() {
    db_.use("RELEASE hapax_apart").run();
    kept_ = true;
  }

 private:
  Connection& db_;
  bool kept_ = false;
};

// Does `work` behind a savepoint. If `work` meets bad data, undoes all of it and returns what is wrong; returns nothing
// when the work is done. Errors that concern the whole store (disk, locks, memory) are thrown.
template <class Work>
std::optional<std::string> try_with_savepoint(Connection& db, Work&& work) {
  try {
    Savepoint savepoint(db);
    work();
    savepoint.keep();
    return std::nullopt;
  } catch (const BadRow& error) {
    if (sqlite3_get_autocommit(db.handle()) != 0) { throw; }  // SQLite has undone the whole transaction
    return error.what();
  } catch (const StoreUnavailable&) { throw; } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) { return error.what(); }
}

// One sweep: its transaction, the rows that this sweep and earlier ones set aside, and its report.
struct Sweep {
  WriteTransaction& tx;
  SetAside& aside;
  SweepReport report;

  // Does `work` on the row behind a savepoint. If it meets bad data, sets the row aside, unchanged, and returns false.
  template <class Work>
  bool try_on(const Uuid& row, Work work) {
    const SweepReport before = report;
    const std::optional<std::string> trouble = try_with_savepoint(tx.db(), work);
    if (!trouble) { return true; }
    report = before;
    aside.add(row, tx.now(), *trouble);
    return false;
  }

  // Does `work`, a part of the sweep, behind a savepoint. If it meets bad data, reports the part as failed.
  template <class Work>
  void try_part(Work work) {
    const SweepReport before = report;
    const std::optional<std::string> trouble = try_with_savepoint(tx.db(), work);
    if (!trouble) { return; }
    report = before;
    report.failure = base::keep_head(*trouble, limits::sweep_error_bytes);
  }

  // pick() takes at most `limit` of the rows that a statement found, without those set aside. `all`: no row was left
  // behind because of the limit.
  struct Rows {
    std::vector<Uuid> ids;
    bool all = true;
    bool left = false;  // some rows are set aside
  };
  [[nodiscard]] Rows pick(const std::vector<Uuid>& found, int limit) const {
    Rows rows;
    for (const Uuid& id : found) {
      if (aside.contains(id)) {
        rows.left = true;
      } else if (std::ssize(rows.ids) == limit) {
        rows.all = false;
        break;
      } else {
        rows.ids.push_back(id);
      }
    }
    return rows;
  }
  // How many rows a statement must find for pick() to know whether there are more.
  [[nodiscard]] int rows_to_fetch(int limit) const { return limit + 1 + aside.size(); }
};

// retention.cpp: deletes expired executions with everything that belongs to them, and what else is kept for a time
// only. Continues at the cursor where the last sweep stopped.
void sweep_expired(Sweep& sweep, int limit, RetentionCursor& at);

}  // namespace hapax::store::sqlite
