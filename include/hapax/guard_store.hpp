// GuardStore: where guarded functions (hapax/guard.hpp) keep their records. A small interface, open to stores of your own.
//
// A record is what is known of one call: who holds it, and how it ended. The guard's whole protocol is three verbs: begin
// (one atomic step: start, or learn what is there), beat (the function still runs) and finish (fenced: accepted, or stale
// because somebody took over). The rest is for waiting and for people.
//
// The rules all stores follow; tests/guard/ has one conformance suite for them:
// - Time is the store's own. Requests carry durations; a store never believes its caller's clock. Every instant in a
//   record is the store's.
// - begin is atomic across everybody who shares the store: of any number of callers at one instant, one is told started.
// - A record in progress never expires. It may be taken over once its heartbeat is older than the takeover_after that its
//   holder gave (not the one who asks); never, when the holder gave none. The new hold has a higher fence, and nothing that
//   is done under the old one counts from then on.
// - Two holds of one key never have both the same fence and the same token, also when the record was removed between them
//   (unlocked, forgotten, expired): a late finish must not be taken for the present holder's.
// - The record of an ended call is there until ttl after its end (for ever without one) or until it is forgotten. Expiry is
//   compared on read: an expired record is absent to every verb, swept or not.
// - Fingerprints are compared before anything else, also while the first call runs, but only when both sides have one and
//   the record still blocks: not when it is expired, nor when it may be taken over.
// - A finish is accepted if the record is in progress under exactly that fence and token. One that was accepted and is asked
//   again, as its answer was lost, is accepted again while the record shows it.
// - A verb that returns has taken effect as durably as the store promises; one that throws StoreUnavailable (StoreBusy,
//   CommitUnknown) may or may not have. A store whose answers can get lost asks again itself, so that a begin which
//   started is never left without its caller for longer than takeover_after.
// - Results and errors are bytes to a store. It never looks into them, and nothing in them is ever run.
// - A store may be used from any thread, and after a fork in the child as in the parent: connections and locks of the
//   parent are not touched there. Memory alone is copied by a fork, and apart from then on; a store that cannot be used
//   in a child says so (SQLite: UsageError).
#pragma once

#include <hapax/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hapax {

// Persisted as these words; the numbers are stable too.
enum class GuardStatus : std::uint8_t { in_progress = 0, completed = 1, failed = 2 };

[[nodiscard]] std::string_view to_string(GuardStatus status);  // "in_progress", "completed", "failed"

// What makes two calls the same: the same function of the same namespace with the same key. `key` is the canonical JSON of
// the arguments or what the key function made, at most 255 bytes of UTF-8 without control characters: what is longer comes
// as "sha256:" and 64 hex digits. A store keeps the three apart: ("a","bc") and ("ab","c") are two records.
struct GuardKey {
  std::string ns = "default";
  std::string name{};
  std::string key{};

  friend bool operator==(const GuardKey&, const GuardKey&) = default;
};

// SHA-256 of the canonical arguments.
using GuardFingerprint = std::array<std::uint8_t, 32>;

struct GuardError {
  std::string type{};  // the error's name(), or the C++ type's
  std::string message{};

  friend bool operator==(const GuardError&, const GuardError&) = default;
};

// SPEC G10.
struct GuardRecord {
  GuardKey key{};  // left empty in an answer to begin: the caller knows it
  GuardStatus status = GuardStatus::in_progress;
  std::string result{};               // JSON, when completed
  std::optional<GuardError> error{};  // when failed
  Time started_at{};
  std::optional<Time> completed_at{};  // when it ended, also by failure
  Time heartbeat{};                    // the last one; started_at before the first
  std::int64_t fence = 0;
  std::optional<Time> expires_at{};          // none: in progress, or kept until forgotten
  std::optional<Duration> takeover_after{};  // as its holder gave it; none: never
  std::optional<GuardFingerprint> fingerprint{};
  std::string owner{};  // who holds or held it, for people: "host:pid"

  friend bool operator==(const GuardRecord&, const GuardRecord&) = default;
};

// What a caller holds after begin said started: everything beat and finish need to know. `token` is the store's own (an
// owner's token, an execution's id); the guard hands it back as it came.
struct GuardHold {
  GuardKey key{};
  std::int64_t fence = 0;
  std::string token{};
  std::optional<Duration> takeover_after{};  // as asked for in begin
};

struct GuardBegin {
  GuardKey key{};
  std::optional<GuardFingerprint> fingerprint{};  // none: not compared
  // How long the record is kept after the call's end; none: until forgotten. The same as in the finish that will follow,
  // for stores that must know it ahead.
  std::optional<Duration> ttl{};
  std::optional<Duration> takeover_after = std::chrono::seconds(30);  // none: never
  std::string owner{};
};

enum class GuardBegun : std::uint8_t {
  started = 0,      // the caller holds it and runs the function
  in_progress = 1,  // somebody else does
  completed = 2,    // `record` has the result
  failed = 3,       // `record` has the error, which is the outcome (on_failure lock)
  mismatch = 4,     // the key is taken by other arguments; `record` is that call's
};

struct GuardAnswer {
  GuardBegun begun = GuardBegun::started;
  GuardHold hold{};         // when started
  bool taken_over = false;  // when started: from a holder whose heartbeat had stopped
  GuardRecord record{};     // when not started; its key may be empty
  Time now{};               // the store's clock, when it answered
  // When in progress: how long until it could be taken over if no further heartbeat came; none: never.
  std::optional<Duration> takeover_in{};
};

enum class GuardEnd : std::uint8_t {
  completed = 0,  // the record keeps `result`
  failed = 1,     // the record keeps `error` (on_failure lock)
  unlocked = 2,   // the record blocks nobody any more; most stores remove it
};

struct GuardFinish {
  GuardEnd end = GuardEnd::completed;
  std::string result = "null";        // JSON
  std::optional<GuardError> error{};  // of failed, and of unlocked for stores that show it
  std::optional<Duration> ttl{};
};

enum class GuardVerdict : std::uint8_t {
  accepted = 0,
  stale = 1,  // taken over, forgotten or ended by somebody else; nothing was changed
};

struct GuardQuery {
  std::string ns = "default";
  std::optional<std::string> name{};
  std::string key_prefix{};
  std::optional<GuardStatus> status{};
  std::string after{};  // GuardPage::next of the page before; empty: the first page
  int limit = 100;      // 1 to 1000
};

// Records in an order of the store's own; what is written meanwhile may be in or not, all else comes exactly once. A page
// may have fewer than `limit` records and still not be the last.
struct GuardPage {
  std::vector<GuardRecord> records{};
  std::optional<std::string> next{};  // none: that was the last page
};

enum class GuardForgotten : std::uint8_t {
  forgotten = 0,
  absent = 1,
  in_progress = 2,  // left as it is; forgetting it needs even_in_progress
};

struct GuardStoreInfo {
  std::string backend{};   // "memory", "file", "redis", "sqlite", "postgresql", or a custom store's own word
  std::string location{};  // for people; passwords removed
  bool shared = false;     // several processes may use it
  bool durable = false;    // an acknowledged record survives the machine's power loss
};

// Every verb may be called from any thread. Guards share a store by std::shared_ptr.
class GuardStore {
 public:
  GuardStore() = default;
  GuardStore(const GuardStore&) = delete;
  GuardStore& operator=(const GuardStore&) = delete;
  virtual ~GuardStore() = default;

  [[nodiscard]] virtual GuardAnswer begin(const GuardBegin& request) = 0;

  // Renews all that is held and answers the indexes of what is no longer held (taken over, forgotten). A record that cannot
  // be renewed stops no other: all are tried, then the first failure is thrown. One thread a process and store calls this,
  // while anything is held, at least every third of the shortest takeover_after (every 10 s for `never`), with all that this
  // process holds of the store: whether that is a write a record or one for the whole process is the store's business.
  [[nodiscard]] virtual std::vector<std::size_t> beat(std::span<const GuardHold> held) = 0;

  [[nodiscard]] virtual GuardVerdict finish(const GuardHold& hold, const GuardFinish& finish) = 0;

  [[nodiscard]] virtual std::optional<GuardRecord> read(const GuardKey& key) = 0;
  [[nodiscard]] virtual GuardPage list(const GuardQuery& query) = 0;
  virtual GuardForgotten forget(const GuardKey& key, bool even_in_progress) = 0;

  // Returns when the record of `key` may have left the state in which somebody holds it under `fence`, or when `at_most`
  // is over. A hint: returning early is always allowed, the caller asks again. Unless overridden it reads with growing
  // pauses, 1 ms to 100 ms.
  virtual void wait_changed(const GuardKey& key, std::int64_t fence, Duration at_most);

  // Removes expired records, at most `limit` of them, and says how many. Correctness never waits for it; a store that has
  // nothing to remove, or removes by itself, answers 0.
  virtual std::size_t sweep(std::size_t limit);

  [[nodiscard]] virtual GuardStoreInfo info() const = 0;
};

using GuardStorePtr = std::shared_ptr<GuardStore>;

// ---- The stores that need nothing else ---------------------------------------------------------------------------

struct MemoryGuardOptions {
  // Records kept at most. Beyond it the ended records that were written first are dropped, expired ones before them; when
  // all are in progress a begin is refused with StoreUnavailable, as forgetting one of those could double its effect.
  std::size_t max_records = 1'000'000;
};

// For ONE process: calls of other processes, of a forked child, or of this program after a restart know nothing of it. Use
// a file, Redis, SQLite or PostgreSQL store where that matters.
[[nodiscard]] GuardStorePtr memory_guard_store(const MemoryGuardOptions& options = {});

struct FileGuardOptions {
  bool sync =
      true;  // fsync of file and folder before an answer; without it a power cut may forget acknowledged records
  // How long a verb waits for the lock of a sub-folder, which a disk that stalls or a stopped process may hold, before it
  // throws StoreBusy: 1 ms to 10 minutes. A heartbeat does not wait that long: it renews the other records meanwhile.
  Duration lock_timeout = std::chrono::seconds(30);
};

// For any number of processes of ONE machine (one kernel: not for network file systems). `folder` is made if need be.
[[nodiscard]] GuardStorePtr file_guard_store(const std::string& folder, const FileGuardOptions& options = {});

// ---- The stores that stand on a server or a database ---------------------------------------------------------------

// Records in Redis, for any number of machines: redis://[user[:password]@]host[:port][/database], rediss:// for the same
// over TLS, or redis+unix:///path/of.sock, with parameters behind a question mark: prefix ("hapax:guard:"; for a cluster
// one with a hash tag, such as "{guard}:"), timeout and connect_timeout (2s each), connections (16), database. With TLS also
// ca_file (whom to trust; the system's if absent), cert_file and key_file (who we are); the server's certificate is always
// verified. As durable as the server is set up to be. Throws StoreUnavailable when the server cannot be used,
// ConfigurationError for a file that cannot.
[[nodiscard]] GuardStorePtr redis_guard_store(const std::string& url);

class App;

// Records as executions of the app's own store (in the queue "hapax.guard"), for whoever shares it. Not for a forked
// child, as the app is not.
[[nodiscard]] GuardStorePtr guard_store(const App& app);

// By URL: "memory:", "file:/var/lib/app/guard" (and "?lock_timeout=30s", see FileGuardOptions), "redis://…", "rediss://…",
// "sqlite:app.db", "postgresql://…". Throws InvalidArgument for what it does not know.
[[nodiscard]] GuardStorePtr open_guard_store(const std::string& url);

}  // namespace hapax
