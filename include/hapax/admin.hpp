// Admin: the calls of an operator: acts on many executions and on whole queues, dead letters, the audit log and tokens.
//
//   hapax::Admin admin = app.admin();
//   admin.retry_all({.queue = "payments"});
//   for (const hapax::AuditRecord& line : admin.audit({.subject = "payments"})) { … }
//
// The server's routes and the commands of the program `hapax` do the same acts and refuse with the same errors. An
// Admin is a copyable handle on its App's shared state; any thread may call any member. Each act writes a line of the
// audit log by OpenOptions::actor, or by "code". All calls but audit() and tokens() throw UsageError inside
// App::transaction.
#pragma once

#include <hapax/inspect.hpp>
#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hapax {

namespace detail {
class AppState;
}

// The effect of a purge. A workflow that has begun is asked to end, as by App::cancel, so that it can compensate.
struct PurgeAnswer {
  std::size_t cancelled = 0;  // pending executions that have ended now
  std::size_t requested = 0;  // workflows that were asked to end
};

struct MoveOptions {
  std::int64_t limit = INT64_MAX;  // move at most this many
  bool create = false;             // make the target queue if it does not exist
};

// One line of the audit log.
struct AuditRecord {
  Time at{};
  std::string actor{};
  std::string action{};   // "execution.retry", "queue.purge", "token.create", …
  std::string subject{};  // the name of a queue, task, setting or activity; the ID of an execution or token
  std::string detail{};   // the new value
};

// The filter of Admin::audit. An option that is not set does not filter.
struct AuditOptions {
  std::optional<std::string> subject{};
  std::optional<std::string> action{};
  std::optional<Time> from{};    // inclusive
  std::optional<Time> before{};  // exclusive
  int limit = 50;                // 1 to 1,000
};

// A token of the server, without its secret.
struct TokenRecord {
  Uuid id{};
  std::string name{};
  std::vector<std::string> scopes{};
  Time created_at{};
  std::string created_by{};
  std::optional<Time> expires_at{};  // none: never
  std::optional<Time> revoked_at{};
  std::optional<Time> last_used_at{};  // accurate to a minute
};

struct TokenOptions {
  std::string scopes{};  // "enqueue,read": any of enqueue, read, work and admin
  std::string name{};    // a label for lists and the audit log
  std::optional<Duration> expires_in = std::chrono::hours(24 * 90);  // none: never
};

struct CreatedToken {
  TokenRecord token{};
  std::string secret{};  // clients send this; the store keeps only a hash, so it cannot be read later
};

class Admin {
 public:
  explicit Admin(std::shared_ptr<detail::AppState> state) : state_(std::move(state)) {}

  // ---- Executions and dead letters -------------------------------------------------------------------------------
  // Cancels or retries every execution that the filter matches, ignoring its limit and cursor, in bounded transactions;
  // returns how many. Without statuses, cancel_all takes pending and running executions and retry_all failed ones. Both
  // throw NotFound when the filter names a queue that does not exist.
  std::size_t cancel_all(ListOptions filter, std::string_view reason = "cancelled by an operator");
  std::size_t retry_all(ListOptions filter);
  // Takes dead letters off their queue's list (their history stays); sets the note of finished executions. Both skip
  // all other executions and return how many they changed. annotate throws InvalidArgument for a note over 2 KiB.
  int discard(std::span<const Uuid> ids);
  int annotate(std::span<const Uuid> ids, std::string_view note);

  // ---- Queues ----------------------------------------------------------------------------------------------------
  // Cancels all pending executions of the queue. Throws NotFound for a queue that does not exist.
  PurgeAnswer purge(std::string_view queue);
  // Moves pending executions, 1,000 in a transaction; returns how many. Throws NotFound for a queue that does not exist,
  // unless `create` makes the target, and InvalidArgument at a batch with an execution whose key has the scope `queue`:
  // that batch is not moved, earlier batches are.
  std::size_t move(std::string_view from, std::string_view to, const MoveOptions& options = {});

  // ---- Audit log and tokens --------------------------------------------------------------------------------------
  // The audit log's lines, newest first: each names an actor and the change. Lines are kept for 400 days.
  [[nodiscard]] std::vector<AuditRecord> audit(const AuditOptions& options = {});
  // The namespace's tokens, revoked and expired ones too, in the order in which they were made. A server needs a token
  // for each request as soon as its store has one.
  [[nodiscard]] std::vector<TokenRecord> tokens();
  // Throws InvalidArgument for unknown scopes, an invalid name or lifetime, and when the namespace has too many tokens.
  [[nodiscard]] CreatedToken create_token(const TokenOptions& options);
  // Revokes a token by its ID, or by its name if only one good token has it; returns the token's ID. Servers accept the
  // token for 5 s more at most. Throws NotFound for a token that does not exist or was revoked already, UsageError when
  // several good tokens have the name.
  Uuid revoke_token(std::string_view id_or_name);

 private:
  std::shared_ptr<detail::AppState> state_;
};

}  // namespace hapax
