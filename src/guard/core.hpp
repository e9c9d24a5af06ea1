// GuardCore: what all calls of one guard share. Immutable but for the cache; any thread.
#pragma once

#include <hapax/detail/guard_call.hpp>
#include <hapax/guard_options.hpp>

#include "guard/cache.hpp"
#include "guard/guard_heartbeat.hpp"

#include <memory>
#include <optional>
#include <string>

namespace hapax::detail {

class GuardCore {
 public:
  // Throws InvalidArgument for options out of range, UsageError without a store.
  GuardCore(std::string name, GuardOptions options);
  GuardCore(const GuardCore&) = delete;
  GuardCore& operator=(const GuardCore&) = delete;
  ~GuardCore();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const GuardOptions& options() const { return options_; }
  [[nodiscard]] GuardStore& store() const { return *options_.store; }
  [[nodiscard]] guard::GuardHeartbeat& heartbeat() const { return *heartbeat_; }
  [[nodiscard]] guard::Cache* cache() const { return cache_.get(); }
  [[nodiscard]] std::string owner() const;  // "host:pid"

  void warn(const std::string& key, const std::string& message) const noexcept;

 private:
  const std::string name_;
  const GuardOptions options_;
  const std::string host_;
  const std::uint64_t generation_;
  const std::string owner_;  // of the process that made the guard
  const std::shared_ptr<guard::GuardHeartbeat> heartbeat_;
  std::unique_ptr<guard::Cache> cache_;
};

}  // namespace hapax::detail
