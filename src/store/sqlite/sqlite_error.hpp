// What a SQLite result code means to a caller of the store.
#pragma once

#include <hapax/error.hpp>

#include <sqlite3.h>

#include <string>
#include <string_view>

namespace hapax::store::sqlite {

// The data is not as this store writes it, or does not go where it should (a broken constraint, text that cannot be read).
// It concerns the row at hand, not the file: to callers it is StoreUnavailable like any other trouble, and a sweep goes on.
class BadRow : public StoreUnavailable {
 public:
  using StoreUnavailable::StoreUnavailable;
};

// Throws the typed error for `code`: StoreBusy when another connection holds the lock, StoreUnavailable for files that
// cannot be read or written, with the path, what was being done and what may help. `db` may be null.
[[noreturn]] void throw_sqlite_error(sqlite3* db, int code, std::string_view path, std::string_view doing);

}  // namespace hapax::store::sqlite
