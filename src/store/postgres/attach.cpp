#include "store/postgres/admission.hpp"
#include "store/postgres/finish.hpp"
#include "store/postgres/postgres_store.hpp"

#include <hapax/error.hpp>

namespace hapax::store::postgres {

namespace {

// Writes inside the transaction that a caller has open on its own connection. Commit and rollback are the caller's.
class AttachedTransaction final : public Transaction {
  template <class Work>
  auto guarded(const Work& work) {
    Connection connection(store_.settings(), native_);
    try {
      return work(connection);
    } catch (const SqlError& error) {
      throw_mapped(error, "attached transaction");
    } catch (const ConnectionBroken& broken) {
      throw StoreUnavailable(std::string("attached transaction: ") + broken.what());
    }
  }

 public:
  AttachedTransaction(PostgresStore& store, PGconn* connection) : store_(store), native_(connection) { check_open(); }

  // 1 round trip without identities, else 1 or more; waits for other transactions as long as the caller's settings say.
  std::vector<Admission> admit(std::span<const NewExecution> items) override {
    check_open();
    Items pointers;
    for (const NewExecution& item : items) { pointers.push_back(&item); }
    if (pointers.empty()) { return {}; }
    // Queues are made and marked outside, so that their numbers hold whether this transaction commits or not.
    const std::vector<QueueRef> unknown = store_.queue_ids().unknown(pointers);
    if (!unknown.empty()) {
      store_.run([&](Connection& connection) { store_.queue_ids().ensure(connection, unknown); });
    }
    if (!store_.queue_ids().unkeyed(pointers).empty()) {
      store_.run([&](Connection& connection) { store_.ensure_keyed(connection, pointers); });
    }
    return guarded([&](Connection& connection) {
      FreedKeys freed;
      std::vector<Admission> admissions = admit_in_transaction(
          {.connection = connection, .queues = store_.queue_ids(), .offset_us = store_.offset_us(), .freed = freed},
          pointers);
      unpark(connection, freed);
      return admissions;
    });
  }

  void finish(const Finish& finish) override {
    check_open();
    const bool accepted = guarded([&](Connection& connection) {
      FinishBatch batch({&finish, 1}, store_.offset_us());
      std::vector<Result> results;
      for (const Call& call : batch.calls()) { results.push_back(connection.query(*call.statement, call.params)); }
      batch.read(results);
      const bool is_accepted = batch.verdicts(connection).front() == FinishVerdict::accepted;
      unpark(connection, batch.freed());
      return is_accepted;
    });
    if (!accepted) {
      abort_transaction();
      throw StaleLease("execution " + finish.id.to_string() + " is no longer held under fence " +
                       std::to_string(finish.fence) + "; the transaction can't be committed");
    }
  }

  void* native() override { return native_; }

 private:
  // Under no queue's lock: it would hold up every claim of the queue for as long as the caller's transaction is open. So
  // it may miss what a claim parks at the same time, which is the sweep's then.
  void unpark(Connection& connection, const FreedKeys& freed) {
    if (freed.empty()) { return; }
    const Call call = unpark_unlocked_call(freed, store_.offset_us());
    connection.query(*call.statement, call.params);
  }

  void check_open() const {
    if (native_ == nullptr || PQtransactionStatus(native_) != PQTRANS_INTRANS) {
      throw UsageError("no transaction is open on this connection; begin one first");
    }
  }

  // The server refuses everything but a rollback after an error, the commit too.
  void abort_transaction() {
    try {
      Connection connection(store_.settings(), native_);
      connection.command("DO $$ BEGIN RAISE EXCEPTION 'hapax: stale lease'; END $$");
    } catch (const SqlError&) {
    } catch (const ConnectionBroken&) {}
  }

  PostgresStore& store_;
  PGconn* native_;
};

}  // namespace

void PostgresStore::transaction(const std::function<void(Transaction&)>&) {
  throw Unsupported("PostgreSQL lends no transaction; begin one on a connection of your own and attach it");
}

std::unique_ptr<Transaction> PostgresStore::attach(void* connection) {
  pool_.check_process();
  return std::make_unique<AttachedTransaction>(*this, static_cast<PGconn*>(connection));
}

}  // namespace hapax::store::postgres
