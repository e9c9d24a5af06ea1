#include <hapax/transaction.hpp>

#include <hapax/app.hpp>

#include "app/app_state.hpp"

namespace hapax {

Transaction::Transaction(std::unique_ptr<detail::TransactionState> state) : state_(std::move(state)) {}
Transaction::Transaction(Transaction&&) noexcept = default;
Transaction& Transaction::operator=(Transaction&&) noexcept = default;
Transaction::~Transaction() = default;

void* Transaction::native_handle() const { return state_->transaction->native(); }

void Transaction::committed() {
  for (const auto& completion : state_->completions) { completion->fate.store(detail::CommitFate::committed); }
  engine::Engine& engine = state_->app->engine();
  engine.observations().admitted(state_->requests, state_->admissions, std::nullopt);
  engine.wake_workers(state_->queues);
}

void App::transaction(const std::function<void(Transaction&)>& fn) {
  state_->forbid_in_transaction("another transaction");
  auto facts = std::make_unique<detail::TransactionState>();
  facts->app = state_;
  Transaction tx(std::move(facts));
  const auto fate = [&](detail::CommitFate reached) {
    for (const auto& completion : tx.state_->completions) { completion->fate.store(reached); }
  };
  try {
    state_->store().transaction([&](store::Transaction& lent) {
      const detail::TransactionGuard guard(state_.get());
      tx.state_->transaction = &lent;
      fn(tx);
    });
  } catch (const CommitUnknown&) {
    fate(detail::CommitFate::unknown);
    throw;
  } catch (...) {
    fate(detail::CommitFate::rolled_back);
    throw;
  }
  tx.committed();
}

Transaction App::attach(void* connection) {
  if (connection == nullptr) {
    throw InvalidArgument("connection", "is null, expected a PGconn* with an open transaction");
  }
  auto facts = std::make_unique<detail::TransactionState>();
  facts->app = state_;
  facts->owned = state_->store().attach(connection);
  facts->transaction = facts->owned.get();
  return Transaction(std::move(facts));
}

AnyHandle App::enqueue_json_in(Transaction& tx, const TaskSpec& task, std::string input_json,
                               const EnqueueOptions& options) {
  const engine::Observations& observations = state_->engine().observations();
  model::NewExecution request;
  const auto admissions = engine::with_current_catalogue(state_->catalogue(), [&] {
    request = state_->request(task, input_json, options, model::Kind::task, detail::AppState::Declare::not_now);
    observations.trace(request);
    return tx.state_->transaction->admit(std::span<const model::NewExecution>(&request, 1));
  });
  model::throw_if_refused(admissions.front(), model::asking_of(request));
  tx.state_->queues.push_back(request.queue);
  if (observations.any()) {
    request.input.clear();
    tx.state_->admissions.push_back(admissions.front());
    tx.state_->requests.push_back(std::move(request));
  }
  return state_->handle(admissions.front());
}

}  // namespace hapax
