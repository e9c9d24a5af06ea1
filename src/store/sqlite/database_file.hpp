// Opening the database file: the checks, settings and migration before any work with it.
#pragma once

#include "store/open.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/file_lock.hpp"

#include <string>

namespace hapax::store::sqlite {

// Throws NotFound: the file at `path` is no store, for the reason `what`. The message names a neighbouring file with a
// similar name.
[[noreturn]] void refuse_missing(const std::string& path, const std::string& what);
// Returns `path`. Throws StoreUnavailable for a directory, NotFound for a file that must exist and does not.
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

// Sets the write-ahead log, full synchronisation and the writer's other settings. Called under the lock file.
void set_up_writer(Connection& db);

// Implements migrate_sqlite of store/open.hpp.
MigrationReport migrate_file(const std::string& path, int to_version);

}  // namespace hapax::store::sqlite
