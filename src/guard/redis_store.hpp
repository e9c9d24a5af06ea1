// RedisGuardStore: guard records in Redis, for any number of machines.
//
// Each verb is one script and one round trip, with the server's clock and an owner's token on each hold. A begin whose
// answer did not come is undone by this process's next verb that reaches the server (redis_chores.hpp). Durability is
// the server's: with Redis's defaults a crash of the server may lose the last second, and with it that a call was made.
#pragma once

#include <hapax/guard_store.hpp>

#include "guard/redis_chores.hpp"
#include "guard/redis_pool.hpp"

#include <atomic>
#include <memory>

namespace hapax::guard {

class RedisGuardStore final : public GuardStore {
 public:
  // `clock_offset_us` is added to the server's clock, for tests. Throws StoreUnavailable when the server cannot be
  // reached.
  explicit RedisGuardStore(RedisPlace place,
                           std::shared_ptr<const std::atomic<std::int64_t>> clock_offset_us = nullptr);

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
  // The key of the mark that voids a begin, should the server get that begin later.
  [[nodiscard]] std::string void_key(const std::string& token) const;
  [[nodiscard]] RedisReply ask_to_begin(const GuardBegin& request, const std::string& token);
  [[nodiscard]] std::vector<RedisReply> run(std::vector<RedisCall> calls);
  [[nodiscard]] RedisReply run(RedisCall call);
  // Undoes begins whose answer did not come. Throws StoreUnavailable when the server cannot be reached.
  void settle_doubts();

  RedisPool pool_;
  const std::string index_;
  const std::shared_ptr<const std::atomic<std::int64_t>> clock_offset_us_;
  RedisChores chores_;
};

}  // namespace hapax::guard
