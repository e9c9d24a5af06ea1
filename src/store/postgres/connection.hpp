// Connection: one libpq connection, used by one thread at a time.
//
// Statements are prepared on first use (or sent unnamed with prepared=off). A refused statement throws SqlError and
// leaves the connection usable. After ConnectionBroken the connection must not be used again. Waits are bounded: a
// server that is silent for the settings' answer_time(), or for an AnswerLimit, counts as gone.
#pragma once

#include "store/postgres/result.hpp"
#include "store/postgres/settings.hpp"
#include "store/postgres/spin_wait.hpp"
#include "store/postgres/statement.hpp"

#include <libpq-fe.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hapax::store::postgres {

// How the server plans. `hot` pins the plans of the engine's statements: generic, by index, never a scan of a whole
// table, so that a plan made while `live` was empty is still right with a million rows in it (decision 12). `plain` is
// for ad-hoc queries, migrations and clean-up. Behind a pooler (prepared=off) both are plain.
enum class Planning : std::uint8_t { hot, plain };

class Connection {
 public:
  // Connects to one of the hosts, each within its own time limit (settings.hpp), or throws StoreUnavailable.
  Connection(const Settings& settings, std::shared_ptr<Hosts> hosts, Planning planning);
  // Works on a caller's connection. Prepares nothing on that connection and does not close it.
  Connection(const Settings& settings, PGconn* borrowed);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // One statement: one round trip, and one transaction unless one is open. A transaction of its own states its
  // durability (connection.hpp).
  Result query(const Statement& statement, const Params& params);
  // All calls in one round trip under one Sync, and so in one transaction that is committed at the end, unless one is
  // open. Throws the first failed call's error; then no call has taken effect. `before_commit` names a fault point.
  std::vector<Result> pipeline(std::span<const Call> calls, const char* before_commit = nullptr);
  // pipeline() of one call that polls for the answer before it sleeps (spin_wait.hpp).
  Result call_and_spin(const Call& call, const char* before_commit);
  // Begins a transaction that states its durability: 1 round trip.
  void begin();
  // SQL without parameters in the simple protocol, with results as text. Several statements return the last one's
  // result.
  Result command(const std::string& sql);
  // An unnamed one-off statement with parameters, for reads and clean-up. Outside a transaction it states no
  // durability.
  Result query_text(const std::string& sql, const Params& params, bool binary_result = true);

  [[nodiscard]] std::string sql(std::string_view text) const { return expand(text, settings_.quoted_schema); }
  [[nodiscard]] const std::string& schema() const { return settings_.schema; }  // not quoted
  [[nodiscard]] PGconn* native() const { return connection_; }
  [[nodiscard]] bool is_broken() const;
  [[nodiscard]] bool in_transaction() const { return PQtransactionStatus(connection_) != PQTRANS_IDLE; }
  // Marks the connection as unusable, after a failure that leaves its state unknown.
  void give_up() { broken_ = true; }
  // The next result of what was sent, or null at the end. Does not check it: only check() throws SqlError.
  Result next_result();
  // Throws if the result is an error.
  void check(const Result& result);
  // Sends all that is buffered. Reads meanwhile, so that client and server never wait for each other.
  void flush();
  [[noreturn]] void fail(const std::string& what);
  // base::fault_point; a fault breaks the connection.
  void fault_point(const char* name);

  // While an AnswerLimit lives, the connection waits this long for an answer: longer for COPY, sweeps, clean-up and
  // migrations, shorter where a request is repeated.
  class AnswerLimit {
   public:
    explicit AnswerLimit(Connection& connection, Duration limit = long_answer)
        : connection_(connection), before_(connection.answer_limit_) {
      connection_.answer_limit_ = limit;
    }
    AnswerLimit(const AnswerLimit&) = delete;
    AnswerLimit& operator=(const AnswerLimit&) = delete;
    ~AnswerLimit() { connection_.answer_limit_ = before_; }

   private:
    Connection& connection_;
    std::optional<Duration> before_;
  };

 private:
  void connect(Planning planning);
  // Returns the error, or an empty string once connected.
  std::string connect_to(const ConnectionOptions& options, Planning planning, Duration at_most, bool& timed_out);
  // Returns why the server may not be used: the server is a primary over which another one was promoted. Empty
  // otherwise. 1 round trip.
  [[nodiscard]] std::string look_at_timeline();
  [[nodiscard]] Duration host_timeout(const ConnectionOptions& options) const;
  [[nodiscard]] std::chrono::milliseconds answer_limit() const;
  // Fails because no answer came in time.
  [[noreturn]] void fail_silent(const std::string& what);
  // One step of a pipeline. The caller keeps the parameters alive.
  struct Step {
    const Statement* statement;
    const Params* params;
  };
  std::vector<Result> run_steps(std::span<const Step> steps, const char* before_commit);
  // Whether a call that is sent now is a transaction of this store's own, which must state its durability.
  [[nodiscard]] bool states_durability() const { return owned_ && !in_transaction(); }
  void prepare(const Statement& statement);
  void send(const Statement& statement, const Params& params);
  Result collect();
  // Waits for the socket. False when the time is up.
  bool wait_socket(short events, std::chrono::milliseconds at_most) const;

  const Settings& settings_;
  SpinWait spin_wait_;
  bool spins_ = false;            // in call_and_spin()
  std::shared_ptr<Hosts> hosts_;  // null: borrowed
  std::size_t host_ = 0;
  std::optional<Duration> answer_limit_;  // none: that of the settings
  PGconn* connection_ = nullptr;
  bool owned_ = true;
  bool prepares_ = true;  // fixed before the first statement is prepared
  bool broken_ = false;
  std::unordered_map<const Statement*, std::string> texts_;  // prepared, or only expanded when nothing is prepared
};

// The durability of what this store acknowledges, stated in each transaction of its own: an acknowledged write survives
// power loss.
//
// synchronous_commit may be turned off for the server, the database or the role while hapax runs, and a pooler gives
// every transaction another session. So no check at start and no session setting lasts: each transaction raises `off`
// and `local` to `on` for itself, and pins any other value (`remote_write`, `remote_apply`) against a reload before its
// commit (decision 44).
inline constexpr const char* durability_text =
    "SELECT pg_catalog.set_config('synchronous_commit', CASE WHEN pg_catalog.current_setting('synchronous_commit') IN "
    "('off', 'local') THEN 'on' ELSE pg_catalog.current_setting('synchronous_commit') END, true)";

inline constexpr Statement durability_statement{"hapax_durability", durability_text};

// Whether each transaction raises this value to `on`.
[[nodiscard]] inline bool is_raised(std::string_view synchronous_commit) {
  return synchronous_commit == "off" || synchronous_commit == "local";
}

// The session's own default, beneath what transactions state for themselves.
[[nodiscard]] std::string synchronous_commit_beneath(Connection& connection);

// An explicit transaction of several round trips: rolled back unless it was committed. Begin and commit each cost a
// round trip, unless they travel in the first and the last pipeline.
class TransactionGuard {
 public:
  explicit TransactionGuard(Connection& connection) : connection_(connection) { connection_.begin(); }
  // For a transaction whose begin_call() is the first call that is sent next.
  struct Pipelined {};
  TransactionGuard(Connection& connection, Pipelined) : connection_(connection) {}
  ~TransactionGuard() {
    if (done_ || connection_.is_broken() || !connection_.in_transaction()) { return; }
    try {
      connection_.command("ROLLBACK");
    } catch (const SqlError&) { connection_.give_up(); } catch (const ConnectionBroken&) {
      connection_.give_up();
    }
  }
  TransactionGuard(const TransactionGuard&) = delete;
  TransactionGuard& operator=(const TransactionGuard&) = delete;

  void commit() {
    connection_.command("COMMIT");
    done_ = true;
  }
  // Called after a successful pipeline whose last call was commit_call().
  void committed() { done_ = true; }

  [[nodiscard]] static Call begin_call() {
    static constexpr Statement begin{"hapax_begin", "BEGIN ISOLATION LEVEL READ COMMITTED"};
    return {&begin, Params()};
  }
  [[nodiscard]] static Call commit_call() {
    static constexpr Statement commit{"hapax_commit", "COMMIT"};
    return {&commit, Params()};
  }

 private:
  Connection& connection_;
  bool done_ = false;
};

}  // namespace hapax::store::postgres
