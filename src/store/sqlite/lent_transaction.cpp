#include "store/sqlite/lent_transaction.hpp"

#include "store/sqlite/verbs.hpp"

#include <hapax/error.hpp>

#include <type_traits>

namespace hapax::store::sqlite {

namespace {

class LentTransaction final : public Transaction {
 public:
  explicit LentTransaction(WriteTransaction& tx) : tx_(tx) {}

  std::vector<Admission> admit(std::span<const NewExecution> items) override {
    check_open();
    check_catalogues(tx_, items);  // outside or_broken: it has changed nothing when it throws
    return or_broken([&] { return sqlite::admit(tx_, items); });
  }

  void finish(const Finish& finish) override {
    check_open();
    refuse_stale(finish.id, or_broken([&] { return sqlite::finish(tx_, finish); }));
  }

  void advance(const Advance& turn) override {
    check_open();
    refuse_stale(turn.execution, or_broken([&] { return sqlite::advance(tx_, turn).verdict; }));
  }

  void* native() override { return tx_.db().handle(); }

  // Throws if the transaction can no longer commit.
  void check_open() const {
    if (stale_) {
      throw StaleLease("execution " + stale_->to_string() +
                       " is no longer this worker's; the transaction cannot commit and is rolled back");
    }
    if (broken_) {
      throw StoreUnavailable("a call inside the lent transaction failed half-way; it cannot commit and is rolled back");
    }
    if (tx_.ended_by_caller()) {
      throw UsageError("the lent transaction was ended by the caller's own COMMIT or ROLLBACK; nothing was committed");
    }
  }

 private:
  void refuse_stale(const Uuid& execution, FinishVerdict verdict) {
    if (verdict == FinishVerdict::stale) {
      stale_ = execution;
      check_open();
    }
  }

  // A verb that failed half-way must not be committed, even if the caller's function continues.
  template <class Verb>
  std::invoke_result_t<Verb> or_broken(const Verb& verb) {
    try {
      return verb();
    } catch (...) {
      broken_ = true;
      throw;
    }
  }

  WriteTransaction& tx_;
  std::optional<Uuid> stale_;
  bool broken_ = false;
};

}  // namespace

void lend_transaction(Writer& writer, const std::function<void(Transaction&)>& fn) {
  WriteTransaction tx(writer, WriteTransaction::Begin::alone);
  LentTransaction lent(tx);
  tx.lend();
  fn(lent);
  lent.check_open();
  tx.take_back();
  tx.commit();
}

}  // namespace hapax::store::sqlite
