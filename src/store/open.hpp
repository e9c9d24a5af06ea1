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
  by_default,  // SQLite: at open; PostgreSQL: only when told (SPEC C4)
  yes,
  no,
};

struct OpenOptions {
  Migrate migrate = Migrate::by_default;
  // NotFound, with the nearest name that is there, for a file or schema that has no hapax tables; nothing is made.
  bool must_exist = false;
  // Added to the store's clock, in microseconds. Tests move it to make time pass on any store; null in production.
  std::shared_ptr<const std::atomic<std::int64_t>> clock_offset_us;
  // The memory store's clock (the simulator's); null: the machine's.
  std::shared_ptr<const base::Clock> clock;
  Duration busy_timeout = std::chrono::seconds(10);     // SQLite: how long to wait for another process's write
  Duration connect_timeout = std::chrono::seconds(10);  // PostgreSQL
  // Payloads are encrypted with its keys (store/encrypted/key_ring.hpp, SPEC X5). Empty: they are not; a store where they
  // are is then refused with ConfigurationError, as is a file that lacks the key they are written with.
  std::string encryption_key_file{};
};

// "sqlite:PATH" (relative or absolute, "sqlite:///abs" too), "memory:", "postgresql://…" or "postgres://…".
// PostgreSQL's own parameters plus ours: schema (default hapax), prepared=on|off (off behind pgbouncer 1.18),
// pool (connections), listen_url. Throws InvalidArgument for a URL that is none of these, StoreUnavailable when it cannot be
// opened, NotFound as OpenOptions::must_exist says, SchemaMismatch when the schema is missing, older without leave to
// migrate, or newer than this build.
[[nodiscard]] std::unique_ptr<Store> open(const std::string& url, const OpenOptions& options = {});

struct MigrationReport {
  int from = 0;  // 0: there was nothing
  int to = 0;
};

// Brings the schema up to `to_version` (0: the newest), once, under a lock, forward only.
MigrationReport migrate(const std::string& url, int to_version = 0);

// The newest version this build knows, and the store's.
struct SchemaStatus {
  int current = 0;
  int newest = 0;
};
[[nodiscard]] SchemaStatus schema_status(const std::string& url);

// The URL without password, for messages.
[[nodiscard]] std::string display_url(std::string_view url);

// The store itself, or one that encrypts in front of it: as OpenOptions::encryption_key_file says.
[[nodiscard]] std::unique_ptr<Store> with_encryption(std::unique_ptr<Store> inner, const std::string& key_file);

// The implementations, one a backend; open() chooses.
[[nodiscard]] std::unique_ptr<Store> open_memory(const OpenOptions& options);
[[nodiscard]] std::unique_ptr<Store> open_sqlite(const std::string& path, const OpenOptions& options);
[[nodiscard]] std::unique_ptr<Store> open_postgres(const std::string& url, const OpenOptions& options);
MigrationReport migrate_sqlite(const std::string& path, int to_version);
MigrationReport migrate_postgres(const std::string& url, int to_version);
[[nodiscard]] SchemaStatus schema_status_sqlite(const std::string& path);
[[nodiscard]] SchemaStatus schema_status_postgres(const std::string& url);

}  // namespace hapax::store
