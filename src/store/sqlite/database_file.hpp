// Opening the database file: what is checked, set and migrated before anybody works with it.
#pragma once

#include "store/open.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/file_lock.hpp"

#include <string>

namespace hapax::store::sqlite {

// Throws NotFound: the file at `path` is no store, because of `what`. Tells the file beside it that has a similar name.
[[noreturn]] void refuse_missing(const std::string& path, const std::string& what);
// `path` itself; StoreUnavailable for a directory, NotFound for a file that must exist and does not.
[[nodiscard]] const std::string& checked_path(const std::string& path, bool must_exist);

// Holds the lock file for a scope.
class Locked {
 public:
  Locked(FileLock& lock, Duration timeout) : lock_(lock) { lock_.acquire(timeout); }
  ~Locked() { lock_.release(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  FileLock& lock_;
};

// Write-ahead log, full synchronisation and the writer's other settings. Under the lock file.
void set_up_writer(Connection& db);

// migrate_sqlite of store/open.hpp.
MigrationReport migrate_file(const std::string& path, int to_version);

}  // namespace hapax::store::sqlite
