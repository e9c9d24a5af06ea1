// SQLite result codes as the store's errors.
#pragma once

#include <hapax/error.hpp>

#include <sqlite3.h>

#include <string>
#include <string_view>

namespace hapax::store::sqlite {

// A row's data is not as this store writes it, or a constraint refuses it. The error concerns that row, not the file:
// callers see it as StoreUnavailable, and a sweep goes on with other rows.
class BadRow : public StoreUnavailable {
 public:
  using StoreUnavailable::StoreUnavailable;
};

// Throws the typed error for `code`: StoreBusy when another connection holds the lock, StoreUnavailable for files that
// cannot be read or written. The message has the path, what was being done and what may help. `db` may be null.
[[noreturn]] void throw_sqlite_error(sqlite3* db, int code, std::string_view path, std::string_view doing);

}  // namespace hapax::store::sqlite
