#include "store/sqlite/database_file.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"
#include "store/sqlite/schema.hpp"

#include <hapax/error.hpp>

#include <filesystem>
#include <vector>

namespace hapax::store::sqlite {

namespace {

// The names of the files beside `path` that may be stores.
std::vector<std::string> neighbours(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (std::ssize(names) == limits::list_page) { break; }
    std::string name = at->path().filename().string();
    const bool is_part = name.ends_with("-wal") || name.ends_with("-shm") || name.ends_with(".lock");
    if (!is_part && at->is_regular_file(error)) { names.push_back(std::move(name)); }
  }
  return names;
}

}  // namespace

void refuse_missing(const std::string& path, const std::string& what) {
  const std::filesystem::path asked(path);
  const std::string near = base::closest(asked.filename().string(), neighbours(asked));
  std::string advice = "hapax migrate makes a store";
  if (!near.empty() && near != asked.filename().string()) {
    advice = "did you mean '" + (asked.parent_path() / near).string() + "'?";
  }
  throw NotFound("SQLite store " + base::keep_tail(path, limits::name_bytes) + ": " + what + "; " + advice);
}

const std::string& checked_path(const std::string& path, bool must_exist) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) {
    throw StoreUnavailable("SQLite store " + base::echo(path) + ": this is a directory; name a file");
  }
  if (must_exist && !std::filesystem::exists(status)) { refuse_missing(path, "there is no such file"); }
  return path;
}

void set_up_writer(Connection& db) {
  if (sqlite3_db_readonly(db.handle(), "main") == 1) { db.fail(SQLITE_READONLY, "opening the file"); }
  const std::string mode = db.text("PRAGMA journal_mode = WAL");
  if (mode != "wal") {
    throw StoreUnavailable("SQLite store " + base::echo(db.path()) +
                           ": write-ahead logging is not possible here (journal mode " + mode +
                           "); use a file on a local disk");
  }
  // synchronous = FULL: a commit is on the disk before it is acknowledged. journal_size_limit: a log that could not be
  // recycled for a while and grew gives its space back. cache_spill = OFF: pages of an open transaction stay in memory.
  // When SQLite 3.40 writes such pages to the log early, and a savepoint is rolled back that was made before they
  // changed, the log cannot be recovered (decision 22).
  db.execute(
      "PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536;"
      "PRAGMA cache_spill = OFF; PRAGMA journal_size_limit = 67108864");
}

MigrationReport migrate_file(const std::string& path, int to_version) {
  const Duration patience = OpenOptions{}.busy_timeout;
  FileLock lock(checked_path(path, false));
  const Locked locked(lock, patience);
  Connection db(path, Connection::Mode::writer, patience);
  set_up_writer(db);
  return migrate(db, to_version, std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()));
}

}  // namespace hapax::store::sqlite
