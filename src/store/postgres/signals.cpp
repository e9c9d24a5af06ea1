#include "store/postgres/audit.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/inbox.hpp"
#include "store/postgres/postgres_store.hpp"

#include "base/fault.hpp"
#include "base/uuid7.hpp"

#include <optional>

namespace hapax::store::postgres {

namespace {

// The state of each receiver, read after the statement that sends: a signal is kept when its key is stored.
constexpr Statement receiver_states{"hapax_signal_look", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT u.place, l.id IS NOT NULL, h.id IS NOT NULL, coalesce(l.kind, h.kind),
       coalesce(h.status, CASE l.state WHEN 1 THEN 1 ELSE 0 END)::smallint, h.continued_as, x.execution IS NOT NULL
FROM unnest($2::int[], $3::uuid[], $4::text[]) u(place, id, key)
LEFT JOIN {s}.live l ON l.id = ANY (ARRAY[u.id])
LEFT JOIN LATERAL (
  SELECT y.id, y.kind, y.status, y.continued_as FROM {s}.history y
  WHERE l.id IS NULL AND y.id = u.id AND y.expires_at > (SELECT now FROM t) LIMIT 1) h ON true
LEFT JOIN {s}.events x ON x.execution = u.id AND x.signal_key = u.key AND x.signal_key IS NOT NULL)"};

// Delivers the signals of one call to the runs that are live now.
class SignalDelivery {
 public:
  SignalDelivery(std::span<const Signal> signals, const std::vector<std::string>& keys, std::int64_t offset_us)
      : offset_us_(offset_us), results_(signals.size()) {
    for (std::size_t i = 0; i < signals.size(); ++i) {
      results_[i].execution = signals[i].execution;
      undelivered_.push_back({.place = i, .sending = {signals[i].execution, &signals[i], keys[i]}});
    }
  }

  [[nodiscard]] bool done() const { return undelivered_.empty(); }

  [[nodiscard]] std::vector<Call> calls() const {
    std::vector<SignalToSend> sending;
    std::set<std::pair<Uuid, std::string>> seen;
    Array places(Type::int4), ids(Type::uuid), keys(Type::text);
    std::int32_t place = 0;
    for (const Undelivered& one : undelivered_) {
      places.int4(place++);
      ids.uuid(one.sending.execution);
      keys.bytes(one.sending.key);
      if (seen.emplace(one.sending.execution, one.sending.key).second) { sending.push_back(one.sending); }
    }
    std::vector<Call> calls;
    calls.push_back(send_signals_call(sending, offset_us_));
    Params params;
    params.int8(offset_us_).array(std::move(places)).array(std::move(ids)).array(std::move(keys));
    calls.push_back({&receiver_states, std::move(params)});
    return calls;
  }

  // `results` are those of calls(). A signal to a run that was continued, or was created meanwhile, stays open and is
  // sent again.
  void read(std::span<const Result> results, Connection& connection, QueueIds& queues) {
    std::unordered_map<Uuid, QueueRef> due;
    for (RowReader reader : results[0]) {
      const Uuid id = reader.uuid();
      const std::int32_t queue = reader.int4();
      if (reader.boolean()) { due.emplace(id, queues.name(connection, queue)); }
    }
    std::vector<Undelivered> open;
    for (RowReader reader : results[1]) {
      Undelivered& one = undelivered_[static_cast<std::size_t>(reader.int4())];
      if (!settle(one, reader, due)) { open.push_back(std::move(one)); }
    }
    undelivered_ = std::move(open);
  }

  [[nodiscard]] const std::vector<SignalResult>& results() const { return results_; }
  [[nodiscard]] std::vector<SignalResult> take() { return std::move(results_); }

 private:
  struct Undelivered {
    std::size_t place = 0;
    SignalToSend sending;
  };

  bool settle(Undelivered& one, RowReader& reader, std::unordered_map<Uuid, QueueRef>& due) {
    SignalResult& result = results_[one.place];
    const bool is_live = reader.boolean();
    const bool is_finished = reader.boolean();
    const bool is_workflow = reader.int2() == static_cast<int>(Kind::workflow);
    const auto status = static_cast<Status>(reader.int2());
    const std::optional<Uuid> next = reader.optional_uuid();
    const bool is_kept = reader.boolean();
    if (next) {
      one.sending.execution = *next;
      return false;
    }
    if (!is_live && !is_finished) {
      result = {};
      return true;
    }
    result.execution = one.sending.execution;
    result.status = status;
    if (!is_workflow) {
      result.verdict = SignalVerdict::not_a_workflow;
    } else if (is_finished) {
      result.verdict = SignalVerdict::finished;
    } else if (is_kept) {
      result.verdict = SignalVerdict::accepted;
      // Only a call's first signal to an execution reports that it woke the execution.
      if (auto woken = due.extract(result.execution)) { result.woken = std::move(woken.mapped()); }
    } else {
      return false;
    }
    return true;
  }

  std::int64_t offset_us_;
  std::vector<SignalResult> results_;
  std::vector<Undelivered> undelivered_;
};

// 1 round trip, none when the sender is not known or no signal was accepted.
void audit_signals(Connection& connection, const Actor& by, std::span<const Signal> signals,
                   const std::vector<SignalResult>& results, std::int64_t offset_us) {
  Acts acts{.by = by, .action = "execution.signal", .done = {}};
  for (std::size_t i = 0; i < signals.size(); ++i) {
    if (results[i].verdict != SignalVerdict::accepted) { continue; }
    acts.done.push_back({.execution = results[i].execution, .detail = signals[i].name});
  }
  if (!by.is_known() || acts.done.empty()) { return; }
  const Call call = act_call(acts, offset_us);
  connection.query(*call.statement, call.params);
}

}  // namespace

// 2 statements in 1 round trip for one signal, and 1 more round trip for each link in a chain of continued runs. 2 more
// round trips for several signals, which are one transaction. With an audit line 3 more. A signal without a key gets
// one, by which it is recognised when it is sent again after a lost answer.
std::vector<SignalResult> PostgresStore::signal(std::span<const Signal> signals, const Actor& by) {
  if (signals.empty()) { return {}; }
  std::vector<std::string> keys;
  for (const Signal& signal : signals) {
    keys.push_back(signal.once ? "k:" + *signal.once : "i:" + base::new_uuid7().to_string());
  }
  return run([&](Connection& connection) {
    SignalDelivery delivery(signals, keys, offset_us());
    const auto deliver = [&] {
      while (!delivery.done()) { delivery.read(connection.pipeline(delivery.calls()), connection, queue_ids_); }
    };
    try {
      if (signals.size() == 1 && !by.is_known()) {
        deliver();
      } else {
        TransactionGuard guard(connection);
        deliver();
        audit_signals(connection, by, signals, delivery.results(), offset_us());
        guard.commit();
      }
      base::fault_point("postgres.signal.after_commit");
    } catch (const base::FaultInjected& fault) { connection.fail(fault.what()); } catch (const SqlError& error) {
      // Another transaction sent the same key at the same time. The repetition finds it.
      if (error.is_unique_violation()) { throw SqlError("40001", error.what()); }
      throw;
    }
    return delivery.take();
  });
}

}  // namespace hapax::store::postgres
