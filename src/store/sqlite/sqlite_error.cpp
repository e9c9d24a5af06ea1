#include "store/sqlite/sqlite_error.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

#include <cerrno>

namespace hapax::store::sqlite {

namespace {

// SQLite reports an I/O error when the -shm file cannot grow on a full disk; errno tells this from a broken disk.
bool is_disk_full(sqlite3* db) {
  const int error = db == nullptr ? 0 : sqlite3_system_errno(db);
  return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

}  // namespace

void throw_sqlite_error(sqlite3* db, int code, std::string_view path, std::string_view doing) {
  const std::string where = "SQLite store " + base::echo(path) + ": ";
  std::string detail = sqlite3_errstr(code);
  if (db != nullptr && (sqlite3_extended_errcode(db) & 0xff) == (code & 0xff)) { detail = sqlite3_errmsg(db); }
  const std::string tail = " (while " + std::string(doing) + ": " + detail + ")";
  const int primary = code & 0xff;
  switch (primary == SQLITE_IOERR && is_disk_full(db) ? SQLITE_FULL : primary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw StoreBusy(where + "another connection held the database too long; find it with `hapax doctor`" + tail);
    case SQLITE_FULL:
      throw StoreUnavailable(where + "the disk is full or the file may not grow; free space and try again" + tail);
    case SQLITE_READONLY:
      throw StoreUnavailable(where + "the file or its directory is read-only; hapax must be able to write both" + tail);
    case SQLITE_CANTOPEN:
      throw StoreUnavailable(where + "cannot be opened; check that its directory exists and may be written" + tail);
    case SQLITE_NOTADB: throw StoreUnavailable(where + "the file is not a SQLite database; name another file" + tail);
    case SQLITE_CORRUPT: throw StoreUnavailable(where + "the database file is damaged; restore a backup" + tail);
    case SQLITE_IOERR: throw StoreUnavailable(where + "the disk reported an error" + tail);
    case SQLITE_PERM:
    case SQLITE_AUTH: throw StoreUnavailable(where + "access is not permitted" + tail);
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
    case SQLITE_TOOBIG: throw BadRow(where + "unexpected error " + std::to_string(code) + tail);
    default: throw StoreUnavailable(where + "unexpected error " + std::to_string(code) + tail);
  }
}

}  // namespace hapax::store::sqlite
