#include <hapax/error.hpp>

#include "store/postgres/admit.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/finish.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/turn.hpp"

namespace hapax::store::postgres {

namespace {

// Writes in the transaction that is open on a connection; the connection's owner commits or rolls back. Sends no
// statement that another transaction's writes could make fail, as a failure would abort this transaction. One thread.
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
  enum class Owner : std::uint8_t { caller, pool };
  AttachedTransaction(PostgresStore& store, PGconn* connection, Owner owner)
      : store_(store), native_(connection), owner_(owner) {
    check_open();
  }

  // 1 round trip without identities, else 1 or more. Waits for other transactions as long as the caller's settings say.
  std::vector<Admission> admit(std::span<const NewExecution> items) override {
    check_open();
    Items pointers;
    for (const NewExecution& item : items) { pointers.push_back(&item); }
    if (pointers.empty()) { return {}; }
    ensure_queues(pointers);
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
    const std::span<const Finish> only(&finish, 1);
    const bool has_turn = finish.turn && (!finish.turn->entries.empty() || finish.kind == FinishKind::continued);
    const std::vector<TurnItem> items = has_turn ? turn_items(only) : std::vector<TurnItem>();
    ensure_queues(TurnSteps::started_by(items));
    const bool accepted = guarded([&](Connection& connection) {
      FreedKeys freed;
      const AdmissionWork work = admission_work(connection, freed);
      FinishBatch batch(only, store_.offset_us());
      if (has_turn) {
        TurnSteps steps(work, items);
        steps.read_locks(send(connection, steps.lock_calls()));
        steps.start();
        const std::vector<Result> results = send(connection, batch.calls_after(steps));
        batch.read(std::span(results).last(batch.calls_count()));
      } else {
        batch.read(send(connection, batch.calls()));
      }
      const bool is_accepted = batch.verdicts(connection).front() == FinishVerdict::accepted;
      unpark(connection, freed);
      unpark(connection, batch.freed());
      return is_accepted;
    });
    if (!accepted) { throw_stale(finish.id, finish.fence); }
  }

  void advance(const Advance& turn) override {
    check_open();
    const std::vector<TurnItem> items{{.execution = turn.execution, .fence = turn.fence, .entries = &turn.entries}};
    ensure_queues(TurnSteps::started_by(items));
    const bool accepted = guarded([&](Connection& connection) {
      FreedKeys freed;
      const AdmissionWork work = admission_work(connection, freed);
      TurnSteps steps(work, items);
      steps.read_locks(send(connection, steps.lock_calls()));
      if (!steps.goes(0)) { return false; }
      steps.start();
      send(connection, steps.calls());
      send(connection, AdvanceBatch({&turn, 1}).calls(steps.children(), store_.offset_us()));
      unpark(connection, freed);
      return true;
    });
    if (!accepted) { throw_stale(turn.execution, turn.fence); }
  }

  void* native() override { return native_; }

  // Throws unless the transaction can be committed.
  void check_committable() const {
    if (stale_) { throw StaleLease(*stale_); }
    if (PQtransactionStatus(native_) == PQTRANS_INERROR) {
      throw StoreUnavailable(
          "a statement inside the lent transaction failed; it can't be committed and is rolled back");
    }
    if (PQtransactionStatus(native_) != PQTRANS_INTRANS) {
      throw UsageError("the lent transaction was ended by the caller's own COMMIT or ROLLBACK");
    }
  }

 private:
  static std::vector<Result> send(Connection& connection, const std::vector<Call>& calls) {
    std::vector<Result> results;
    for (const Call& call : calls) { results.push_back(connection.query(*call.statement, call.params)); }
    return results;
  }

  AdmissionWork admission_work(Connection& connection, FreedKeys& freed) {
    return {.connection = connection, .queues = store_.queue_ids(), .offset_us = store_.offset_us(), .freed = freed};
  }

  // Creates and marks queues on another connection, so that their ids are valid whether this transaction commits or
  // not. If this connection is from the pool, the other one is not: a user of the pool must not wait for a second
  // connection.
  void ensure_queues(const Items& items) {
    if (store_.queue_ids().unknown(items).empty() && store_.queue_ids().unkeyed(items).empty()) { return; }
    if (owner_ == Owner::caller) {
      store_.run([&](Connection& connection) { store_.ensure_queues(connection, items); });
      return;
    }
    try {
      Connection other_connection(store_.settings(), store_.settings().hosts, Planning::plain);
      store_.ensure_queues(other_connection, items);
    } catch (const SqlError& error) {
      throw_mapped(error, store_.settings().location);
    } catch (const ConnectionBroken& broken) { throw StoreUnavailable(broken.what()); }
  }

  [[noreturn]] void throw_stale(const Uuid& id, std::int64_t fence) {
    abort_transaction();
    stale_ = "execution " + id.to_string() + " is no longer held under fence " + std::to_string(fence) +
             "; the transaction can't be committed";
    throw StaleLease(*stale_);
  }

  // Unparks without the queue's lock, which would block every claim of the queue while the caller's transaction is
  // open. An execution that a claim parks at the same time may stay parked until the sweep.
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

  // Makes the caller's COMMIT fail: after an error the server only rolls back.
  void abort_transaction() {
    try {
      Connection connection(store_.settings(), native_);
      connection.command("DO $$ BEGIN RAISE EXCEPTION 'hapax: stale lease'; END $$");
    } catch (const SqlError&) {
    } catch (const ConnectionBroken&) {}
  }

  PostgresStore& store_;
  PGconn* native_;
  const Owner owner_;
  std::optional<std::string> stale_;
};

class LendingScope {
 public:
  LendingScope(const PostgresStore* store, PGconn* connection) : connection_(connection) {
    PostgresStore::lending = store;
    PQsetnonblocking(connection_, 0);
  }
  LendingScope(const LendingScope&) = delete;
  LendingScope& operator=(const LendingScope&) = delete;
  ~LendingScope() {
    PQsetnonblocking(connection_, 1);
    PostgresStore::lending = nullptr;
  }

 private:
  PGconn* connection_;
};

}  // namespace

// 2 round trips, and those of the caller's function. The connection plans by the server's settings, because the
// caller's own statements run on it. The connection returns to the pool, so the caller must leave its session settings
// unchanged.
void PostgresStore::transaction(const std::function<void(Transaction&)>& fn) {
  check_not_lending();
  try {
    const Pool::Lease lease = pool_.acquire(Planning::plain);
    TransactionGuard guard(*lease);
    {
      const LendingScope lent(this, lease->native());
      AttachedTransaction tx(*this, lease->native(), AttachedTransaction::Owner::pool);
      fn(tx);
      tx.check_committable();
    }
    try {
      guard.commit();
      lease->fault_point("postgres.transaction.after_commit");
    } catch (const ConnectionBroken& broken) {
      throw CommitUnknown(settings_.location + ": " + broken.what() +
                          "; whether the lent transaction was committed is not known");
    }
  } catch (const SqlError& error) { throw_mapped(error, settings_.location); } catch (const ConnectionBroken& broken) {
    pool_.drop_idle();
    throw StoreUnavailable(settings_.location + ": " + broken.what());
  }
}

std::unique_ptr<Transaction> PostgresStore::attach(void* connection) {
  pool_.check_process();
  return std::make_unique<AttachedTransaction>(*this, static_cast<PGconn*>(connection),
                                               AttachedTransaction::Owner::caller);
}

}  // namespace hapax::store::postgres
