// Savepoint: a part of a write transaction that can be undone by itself.
#pragma once

#include "store/sqlite/connection.hpp"
#include "store/sqlite/sqlite_error.hpp"

#include <exception>
#include <new>
#include <optional>
#include <string>

namespace hapax::store::sqlite {

// Undone when it goes without keep(). They nest: the last one made goes first. Cursors made behind it are gone by then.
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

// Does `work` behind a savepoint. Returns what is wrong with the data that it met, having undone it all; nothing when it was
// done. Throws what concerns the whole store: errors of the disk, of locks and of memory.
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
