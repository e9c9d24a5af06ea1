// A record store that wraps another one and calls the test's hooks.
#pragma once

#include <hapax/guard_store.hpp>

#include <functional>
#include <utility>

namespace hapax::guard_tests {

class DelegatingStore : public GuardStore {
 public:
  explicit DelegatingStore(GuardStorePtr inner) : inner_(std::move(inner)) {}

  // before_* hooks run before the call is passed on, and may throw; after_* hooks run when it has returned.
  std::function<void()> before_begin{};
  std::function<void()> after_begin{};
  std::function<void()> before_finish{};
  std::function<void()> after_finish{};
  std::function<void()> before_beat{};

  GuardAnswer begin(const GuardBegin& request) override {
    if (before_begin) { before_begin(); }
    GuardAnswer answer = inner_->begin(request);
    if (after_begin) { after_begin(); }
    return answer;
  }
  std::vector<std::size_t> beat(std::span<const GuardHold> held) override {
    if (before_beat) { before_beat(); }
    return inner_->beat(held);
  }
  GuardVerdict finish(const GuardHold& hold, const GuardFinish& finish) override {
    if (before_finish) { before_finish(); }
    const GuardVerdict verdict = inner_->finish(hold, finish);
    if (after_finish) { after_finish(); }
    return verdict;
  }
  std::optional<GuardRecord> read(const GuardKey& key) override { return inner_->read(key); }
  GuardPage list(const GuardQuery& query) override { return inner_->list(query); }
  GuardForgotten forget(const GuardKey& key, bool even_in_progress) override {
    return inner_->forget(key, even_in_progress);
  }
  GuardStoreInfo info() const override { return inner_->info(); }

 private:
  const GuardStorePtr inner_;
};

}  // namespace hapax::guard_tests
