#include "server_rigs.hpp"

#include "base/uuid7.hpp"
#include "guard/execution_store.hpp"
#include "guard/redis_store.hpp"
#include "guard/redis_url.hpp"
#include "store/open.hpp"

#include <libpq-fe.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

namespace hapax::guard_tests {

namespace {

using Offset = std::shared_ptr<std::atomic<std::int64_t>>;

// Moves time by an offset to the store's clock.
class OffsetRig : public Rig {
 public:
  void advance(Duration by) override { offset_->fetch_add(by.count()); }

 protected:
  const Offset offset_ = std::make_shared<std::atomic<std::int64_t>>(0);
};

GuardStorePtr open_executions(const std::string& url, const Offset& offset) {
  return std::make_shared<guard::ExecutionStore>([url, offset] {
    store::OpenOptions options;
    options.migrate = store::Migrate::yes;
    options.clock_offset_us = offset;
    return std::shared_ptr<store::Store>(store::open(url, options));
  });
}

class StoreMemoryRig final : public OffsetRig {
 public:
  GuardStorePtr open() override { return store_; }

 private:
  GuardStorePtr store_ = open_executions("memory:", offset_);
};

class SqliteRig final : public OffsetRig {
 public:
  GuardStorePtr open() override { return open_executions(url(), offset_); }
  [[nodiscard]] std::string url() const override { return "sqlite:" + folder_.path() + "/guard.db"; }

 private:
  Folder folder_;
};

std::string fresh_name() {
  std::string name = "g_";
  for (const char letter : base::new_uuid7().to_string()) {
    if (letter != '-') { name += letter; }
  }
  return name;
}

class PostgresRig final : public OffsetRig {
 public:
  ~PostgresRig() override {
    PGconn* const connection = PQconnectdb(server_.c_str());
    const std::string drop = "SET client_min_messages = error; DROP SCHEMA IF EXISTS " + schema_ + " CASCADE";
    PQclear(PQexec(connection, drop.c_str()));
    PQfinish(connection);
  }
  GuardStorePtr open() override { return open_executions(url(), offset_); }
  [[nodiscard]] std::string url() const override { return server_ + "?schema=" + schema_; }

 private:
  const std::string server_ = [] {
    const std::string url = environment("HAPAX_TEST_POSTGRES_URL");
    return url.substr(0, url.find('?'));
  }();
  const std::string schema_ = fresh_name();
};

class RedisRig final : public OffsetRig {
 public:
  GuardStorePtr open() override {
    return std::make_shared<guard::RedisGuardStore>(guard::parse_redis_url(url()), offset_);
  }
  [[nodiscard]] std::string url() const override {
    return environment("HAPAX_TEST_REDIS_URL") + "?prefix=" + prefix_ + ":&timeout=10s";
  }

 private:
  const std::string prefix_ = fresh_name();
};

}  // namespace

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    throw std::runtime_error(std::string(name) + " is not set: ./dev test sets it");
  }
  return value;
}

std::vector<RigFactory> server_rigs() {
  return {
      {"executions", [] { return std::make_unique<StoreMemoryRig>(); }},
      {"sqlite", [] { return std::make_unique<SqliteRig>(); }},
      {"postgres", [] { return std::make_unique<PostgresRig>(); }},
      {"redis", [] { return std::make_unique<RedisRig>(); }},
  };
}

}  // namespace hapax::guard_tests
