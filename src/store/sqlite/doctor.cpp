// The findings of `hapax doctor` for a SQLite store.
#include "store/overdue_finding.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/verbs.hpp"

#include <filesystem>

namespace hapax::store::sqlite {

namespace {

using Level = Finding::Level;

// The SQLite release that fixed the WAL-reset bug: a reset of the log could race a commit.
constexpr int wal_reset_fixed = 3051003;
constexpr std::uintmax_t low_disk_bytes = 256ULL << 20;
// Less than the write-ahead log needs: one commit may still fit into a recycled log, and the next one may fail.
constexpr std::uintmax_t full_disk_bytes = 16ULL << 20;
constexpr int long_wal_pages = 8 * checkpoint_pages;
// quick_check of a file with at most this many pages is cheap; for larger files the operator runs PRAGMA
// integrity_check.
constexpr std::int64_t checked_pages = 50'000;
constexpr Duration overdue_after = std::chrono::minutes(1);

Finding version_finding() {
  const std::string version = sqlite3_libversion();
  if (sqlite3_libversion_number() >= wal_reset_fixed) { return {Level::ok, "sqlite version", version, ""}; }
  return {Level::note, "sqlite version",
          version +
              " has the WAL-reset bug (fixed in 3.51.3): a checkpoint racing another connection's commit may damage "
              "the file",
          "hapax avoids it with its lock file; do not write to or checkpoint the database with other programs while it "
          "runs"};
}

Finding schema_finding(Connection& db) {
  const int current = schema_version(db);
  const std::string detail =
      "version " + std::to_string(current) + ", this build knows " + std::to_string(newest_schema);
  return current == newest_schema ? Finding{Level::ok, "schema", detail, ""}
                                  : Finding{Level::note, "schema", detail, "use the newer hapax"};
}

Finding durability_finding(Connection& db) {
  const std::string mode = db.text("PRAGMA journal_mode");
  if (mode == "wal") { return {Level::ok, "durability", "journal mode wal, synchronous FULL", ""}; }
  return {Level::problem, "durability", "journal mode " + mode, "another program changed it; reopen the store"};
}

Finding wal_finding(const Writer& writer) {
  const int pages = writer.wal_pages();
  const std::string detail = std::to_string(pages) + " pages since this process's last checkpoint";
  return pages < long_wal_pages ? Finding{Level::ok, "write-ahead log", detail, ""}
                                : Finding{Level::warning, "write-ahead log", detail,
                                          "a long-running reader keeps the log from being recycled; find and end it"};
}

Finding lock_finding(const std::string& path) {
  const std::optional<int> holder = FileLock::holder(path);
  if (!holder) { return {Level::ok, "lock file", "free", ""}; }
  return {Level::note, "lock file", "held by process " + std::to_string(*holder),
          "normal while it writes; if it stays, that process is stopped inside a write and stops all writers"};
}

Finding integrity_finding(Connection& db) {
  const std::int64_t pages = db.integer("PRAGMA page_count");
  if (pages > checked_pages) {
    return {Level::note, "integrity", std::to_string(pages) + " pages, too many to check here",
            "run PRAGMA integrity_check on a copy"};
  }
  const std::string answer = db.text("PRAGMA quick_check(1)");
  return answer == "ok" ? Finding{Level::ok, "integrity", "quick_check: ok", ""}
                        : Finding{Level::problem, "integrity", answer, "restore a backup"};
}

Finding disk_finding(const std::string& path) {
  std::error_code error;
  const auto space = std::filesystem::space(std::filesystem::absolute(path).parent_path(), error);
  if (error) { return {Level::note, "disk", "free space unknown: " + error.message(), ""}; }
  const std::string detail = std::to_string(space.available >> 20) + " MiB free";
  if (space.available < full_disk_bytes) { return {Level::problem, "disk", detail, "free space: writes fail soon"}; }
  return space.available >= low_disk_bytes
             ? Finding{Level::ok, "disk", detail, ""}
             : Finding{Level::warning, "disk", detail, "free space, or shorten retention"};
}

Finding dead_letters_finding(ReadTransaction& tx) {
  Cursor cursor = tx.db().use("SELECT count(*) FROM history INDEXED BY history_dead WHERE dead = 1");
  const std::int64_t count = cursor.next() ? cursor.integer(0) : 0;
  return count == 0 ? Finding{Level::ok, "dead letters", "none", ""}
                    : Finding{Level::note, "dead letters", std::to_string(count), "see `hapax dlq list`"};
}

Finding sessions_finding(ReadTransaction& tx) {
  Cursor cursor = tx.db().use("SELECT count(*) FROM sessions WHERE expires_at <= ?");
  const std::int64_t lost = cursor.bind(tx.now()).next() ? cursor.integer(0) : 0;
  return lost == 0 ? Finding{Level::ok, "sessions", "none lost", ""}
                   : Finding{Level::warning, "sessions", std::to_string(lost) + " with an expired lease, not yet swept",
                             "any running worker sweeps them; start one"};
}

Finding activities_finding(ReadTransaction& tx) {
  Cursor cursor = tx.db().use(
      "SELECT count(*) FROM activities INDEXED BY activities_due WHERE next_due IS NOT NULL AND next_due <= ?");
  const std::int64_t count = cursor.bind(tx.now() - overdue_after).next() ? cursor.integer(0) : 0;
  return count == 0 ? Finding{Level::ok, "overdue activities", "none", ""}
                    : Finding{Level::warning, "overdue activities",
                              std::to_string(count) + " with a tick that was due a minute ago or longer",
                              "any running worker or server starts their ticks; start one"};
}

Finding deadlines_finding(ReadTransaction& tx) {
  Cursor cursor = tx.db().use(
      "SELECT (SELECT count(*) FROM live INDEXED BY live_deadline WHERE deadline IS NOT NULL AND deadline <= ?1),"
      " EXISTS (SELECT 1 FROM sessions WHERE expires_at > ?2)");
  const bool read = cursor.bind(tx.now() - overdue_patience, tx.now()).next();
  return overdue_finding(read ? cursor.integer(0) : 0, read && cursor.flag(1));
}

}  // namespace

std::vector<Finding> doctor(Writer& writer, ReadTransaction& tx) {
  return {version_finding(),           schema_finding(tx.db()),     durability_finding(tx.db()),
          wal_finding(writer),         lock_finding(writer.path()), integrity_finding(tx.db()),
          disk_finding(writer.path()), dead_letters_finding(tx),    sessions_finding(tx),
          activities_finding(tx),      deadlines_finding(tx)};
}

}  // namespace hapax::store::sqlite
