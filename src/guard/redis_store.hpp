// RedisGuardStore: guard records in Redis, for any number of machines (SPEC G7).
//
// One script a verb, one round trip, the server's clock, an owner's token on each hold. As durable as the server is set up
// to be: with Redis's defaults a crash of the server may forget the last second, and with it that a call was made.
#pragma once

#include <hapax/guard_store.hpp>

#include "guard/redis_pool.hpp"

#include <mutex>

namespace hapax::guard {

class RedisGuardStore final : public GuardStore {
 public:
  explicit RedisGuardStore(RedisPlace place);

  [[nodiscard]] GuardAnswer begin(const GuardBegin& request) override;
  [[nodiscard]] std::vector<std::size_t> beat(std::span<const GuardHold> held) override;
  [[nodiscard]] GuardVerdict finish(const GuardHold& hold, const GuardFinish& finish) override;
  [[nodiscard]] std::optional<GuardRecord> read(const GuardKey& key) override;
  [[nodiscard]] GuardPage list(const GuardQuery& query) override;
  GuardForgotten forget(const GuardKey& key, bool even_in_progress) override;
  std::size_t sweep(std::size_t limit) override;
  [[nodiscard]] GuardStoreInfo info() const override;

 private:
  [[nodiscard]] std::string record_key(const GuardKey& key) const;

  RedisPool pool_;
  const std::string index_;
  std::mutex sweep_mutex_;
  std::string swept_to_;  // the last entry looked at; under it
};

}  // namespace hapax::guard
