// Savepoint: a part of a write transaction that can be undone alone.
#pragma once

#include "store/sqlite/connection.hpp"
#include "store/sqlite/sqlite_error.hpp"

#include <exception>
#include <new>
#include <optional>
#include <string>

namespace hapax::store::sqlite {

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
std::optional<std::string> try_apart(Connection& db, Work&& work) {
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

}  // namespace hapax::store::sqlite
