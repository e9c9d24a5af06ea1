#include "store/postgres/postgres_store.hpp"

#include <hapax/error.hpp>

#include "store/postgres/connection.hpp"
#include "store/postgres/schema.hpp"

#include <algorithm>
#include <thread>

namespace hapax::store::postgres {

namespace {

constexpr Statement now_statement{"hapax_now", "SELECT {now} + $1::bigint"};

}  // namespace

PostgresStore::PostgresStore(Settings settings, const OpenOptions& options)
    : settings_(std::move(settings)),
      clock_offset_us_(options.clock_offset_us),
      pool_(settings_),
      notifier_(settings_),
      vacuum_(pool_) {}

StoreInfo PostgresStore::info() {
  return read(Planning::plain, [&](Connection& connection) {
    StoreInfo info;
    info.backend = "postgresql";
    const char* const version = PQparameterStatus(connection.native(), "server_version");
    info.version = version == nullptr ? "" : version;
    info.location = settings_.location;
    info.schema_version = schema_version(connection);
    const std::string synchronous = synchronous_commit_beneath(connection);
    if (is_raised(synchronous)) {
      info.durability = "synchronous_commit is " + synchronous + "; the transactions of hapax raise it to on";
    }
    info.capabilities = {.durable = true,
                         .shared = true,
                         .lends_transaction = true,
                         .attaches_transaction = true,
                         .speaks_sql = true,
                         .remote = true};
    return info;
  });
}

Time PostgresStore::now() {
  return read([&](Connection& connection) {
    return RowReader(connection.query(now_statement, Params().int8(offset_us())), 0).time();
  });
}

void PostgresStore::back_off(int attempt) {
  std::this_thread::sleep_for(std::chrono::milliseconds(std::min(1 << std::min(attempt, 7), 100)));
}

bool PostgresStore::may_repeat(const SqlError& error, int attempt) {
  if (error.is_read_only()) {
    pool_.drop_idle();
    return attempt < lost_attempts;
  }
  return error.is_transient() && attempt < transient_attempts;
}

bool PostgresStore::may_reconnect(int attempt, std::chrono::steady_clock::time_point begun) {
  pool_.drop_idle();
  // A server that left a call without an answer gets one more try, with a shorter limit.
  const bool twice = attempt >= 2 && settings_.learned->unanswering.load();
  return !twice && attempt < lost_attempts && std::chrono::steady_clock::now() - begun < settings_.answer_timeout;
}

Pool::Lease PostgresStore::acquire_to_read_back() {
  const auto deadline = std::chrono::steady_clock::now() + settings_.read_back_patience();
  for (int attempt = 1;; ++attempt) {
    try {
      return pool_.acquire();
    } catch (const StoreUnavailable& error) {
      if (std::chrono::steady_clock::now() >= deadline) {
        throw CommitUnknown(std::string(error.what()) +
                            "; the connection broke at commit and whether it was kept can't be read back");
      }
    }
    back_off(attempt);
  }
}

}  // namespace hapax::store::postgres
