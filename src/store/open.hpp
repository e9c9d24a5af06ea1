// Opening a store by its URL, and its schema.
#pragma once

#include "base/clock.hpp"
#include "store/store.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace hapax::store {

enum class Migrate : std::uint8_t {
  by_default,  // SQLite: when opened; PostgreSQL: only with `yes`
  yes,
  no,
};

struct OpenOptions {
  Migrate migrate = Migrate::by_default;
  // Throws NotFound, with the nearest name that exists, for a file or schema without hapax tables. Nothing is created.
  bool must_exist = false;
  // In microseconds, added to the store's clock. Tests move it to make time pass on any store; null in production.
  std::shared_ptr<const std::atomic<std::int64_t>> clock_offset_us;
  // The memory store's clock, which the simulator sets; null: the machine's clock.
  std::shared_ptr<const base::Clock> clock;
  Duration busy_timeout = std::chrono::seconds(10);     // SQLite: how long to wait for another process's write
  Duration connect_timeout = std::chrono::seconds(10);  // PostgreSQL
  // The file with the keys that payloads are encrypted with (store/encrypted/key_ring.hpp). Empty: payloads are not
  // encrypted. A store with encrypted payloads throws ConfigurationError when the path is empty or the file lacks the
  // key that the payloads are written with.
  std::string encryption_key_file{};
};

// "sqlite:PATH" (relative or absolute; "sqlite:///abs" too), "memory:", "postgresql://…" or "postgres://…". A
// PostgreSQL URL takes libpq's parameters and: schema (default hapax), prepared=on|off (off behind pgbouncer 1.18),
// pool (connections), listen_url. Throws InvalidArgument for any other URL, StoreUnavailable when the store cannot be
// opened, NotFound as OpenOptions::must_exist says, and SchemaMismatch when the schema is missing, older and not to be
// migrated, or newer than this build.
[[nodiscard]] std::unique_ptr<Store> open(const std::string& url, const OpenOptions& options = {});

struct MigrationReport {
  int from = 0;  // 0: there was no schema
  int to = 0;
};

// Brings the schema up to `to_version` (0: the newest). Runs once, under a lock, and only forward.
MigrationReport migrate(const std::string& url, int to_version = 0);

// The store's schema version, and the newest one that this build knows.
struct SchemaStatus {
  int current = 0;
  int newest = 0;
};
[[nodiscard]] SchemaStatus schema_status(const std::string& url);

// The URL without its password, for messages.
[[nodiscard]] std::string display_url(std::string_view url);

// Returns `inner`, or a store that encrypts in front of it, as OpenOptions::encryption_key_file says.
[[nodiscard]] std::unique_ptr<Store> with_encryption(std::unique_ptr<Store> inner, const std::string& key_file);

// One function per backend; open() calls the one that the URL names.
[[nodiscard]] std::unique_ptr<Store> open_memory(const OpenOptions& options);
[[nodiscard]] std::unique_ptr<Store> open_sqlite(const std::string& path, const OpenOptions& options);
[[nodiscard]] std::unique_ptr<Store> open_postgres(const std::string& url, const OpenOptions& options);
MigrationReport migrate_sqlite(const std::string& path, int to_version);
MigrationReport migrate_postgres(const std::string& url, int to_version);
[[nodiscard]] SchemaStatus schema_status_sqlite(const std::string& path);
[[nodiscard]] SchemaStatus schema_status_postgres(const std::string& url);

}  // namespace hapax::store
