// GuardStore: keeps the records of guarded functions (hapax/guard.hpp). Implement this small interface for a store of
// your own.
//
// A record says who holds one call and how the call ended. The guard's protocol is three verbs: begin (one atomic step:
// starts the call, or answers with the existing record), beat (renews the heartbeat while the function runs) and finish
// (fenced: accepted, or stale because another caller took over). The other verbs serve waiting and operators.
//
// All stores follow these rules; tests/guard/ has one conformance suite for them:
// - Time is the store's own. Requests carry durations; a store never uses its caller's clock. Every instant in a record
//   is the store's.
// - begin is atomic across all callers of the store: of any number of simultaneous callers, exactly one is told
//   started.
// - A record in progress never expires. Another caller may take it over once its heartbeat is older than the
//   takeover_after that its holder gave (not the one in the new request), and never when the holder gave none. The new
//   hold has a higher fence, and writes under the old hold no longer count.
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

// Persisted as these words; the numbers never change either.
enum class GuardStatus : std::uint8_t { in_progress = 0, completed = 1, failed = 2 };

[[nodiscard]] std::string_view to_string(GuardStatus status);  // "in_progress", "completed", "failed"

// The identity of a call: namespace, function name and key. `key` is the canonical JSON of the arguments, or the key
// function's result: at most 255 bytes of UTF-8 without control characters. A longer key arrives as "sha256:" and 64
// hex digits. A store keeps the three parts apart: ("a","bc") and ("ab","c") are two records.
struct GuardKey {
  std::string namespace_name = "default";
  std::string name{};
  std::string key{};

  friend bool operator==(const GuardKey&, const GuardKey&) = default;
};

// SHA-256 of the canonical arguments.
using GuardFingerprint = std::array<std::uint8_t, 32>;

struct GuardError {
  std::string type{};  // the exception's name() if it is a hapax::Error, else its C++ type
  std::string message{};

  friend bool operator==(const GuardError&, const GuardError&) = default;
};

// One call, as the store knows it.
struct GuardRecord {
  GuardKey key{};  // may be empty in an answer to begin: the caller knows it
  GuardStatus status = GuardStatus::in_progress;
  std::string result{};               // JSON, when completed
  std::optional<GuardError> error{};  // when failed
  Time started_at{};
  std::optional<Time> completed_at{};  // when the call ended, also by failure
  Time heartbeat{};                    // the last heartbeat; started_at before the first
  std::int64_t fence = 0;
  std::optional<Time> expires_at{};          // none: in progress, or kept until forgotten
  std::optional<Duration> takeover_after{};  // as the holder gave it; none: never
  std::optional<GuardFingerprint> fingerprint{};
  std::string owner{};  // the holder's process, for operators: "host:pid"

  friend bool operator==(const GuardRecord&, const GuardRecord&) = default;
};

// The caller's hold on a call after begin said started: all that beat and finish need. The store chooses `token` (an
// owner's token, an execution's ID); the guard returns it unchanged.
struct GuardHold {
  GuardKey key{};
  std::int64_t fence = 0;
  std::string token{};
  std::optional<Duration> takeover_after{};  // as given to begin
};

struct GuardBegin {
  GuardKey key{};
  std::optional<GuardFingerprint> fingerprint{};  // none: not compared
  // How long the record is kept after the call's end; none: until forgotten. Equal to the ttl of the finish that
  // follows, for stores that must know it in advance.
  std::optional<Duration> ttl{};
  std::optional<Duration> takeover_after = std::chrono::seconds(30);  // none: never
  std::string owner{};
};

enum class GuardBegun : std::uint8_t {
  started = 0,      // the caller holds the call and runs the function
  in_progress = 1,  // another caller runs the function
  completed = 2,    // `record` has the result
  failed = 3,       // `record` has the error, which is the outcome (OnFailure::lock)
  mismatch = 4,     // the key belongs to a call with other arguments; `record` is that call
};

struct GuardAnswer {
  GuardBegun begun = GuardBegun::started;
  GuardHold hold{};         // when started
  bool taken_over = false;  // when started: the hold was taken from a holder whose heartbeat had stopped
  GuardRecord record{};     // when not started; its key may be empty
  Time now{};               // the store's time of this answer
  // When in progress: how long until the call may be taken over if no further heartbeat comes; none: never.
  std::optional<Duration> takeover_in{};
};

enum class GuardEnd : std::uint8_t {
  completed = 0,  // the record keeps `result`
  failed = 1,     // the record keeps `error` (OnFailure::lock)
  unlocked = 2,   // the record blocks no caller any more; most stores remove it
};

struct GuardFinish {
  GuardEnd end = GuardEnd::completed;
  std::string result = "null";        // JSON
  std::optional<GuardError> error{};  // for failed, and for unlocked in stores that show it
  std::optional<Duration> ttl{};
};

enum class GuardVerdict : std::uint8_t {
  accepted = 0,
  stale = 1,  // another caller took over, or the record was forgotten or ended; nothing was changed
};

struct GuardQuery {
  std::string namespace_name = "default";
  std::optional<std::string> name{};
  std::string key_prefix{};
  std::optional<GuardStatus> status{};
  std::string after{};  // GuardPage::next of the previous page; empty: the first page
  int limit = 100;      // 1 to 1000
};

// A page of records, in the store's own order. A record written during the listing may or may not appear; every other
// record comes exactly once. A page with fewer than `limit` records need not be the last.
struct GuardPage {
  std::vector<GuardRecord> records{};
  std::optional<std::string> next{};  // none: this is the last page
};

enum class GuardForgotten : std::uint8_t {
  forgotten = 0,
  absent = 1,
  in_progress = 2,  // left as it is; use even_in_progress to forget it
};

struct GuardStoreInfo {
  std::string backend{};   // "memory", "file", "redis", "sqlite", "postgresql", or a custom store's own name
  std::string location{};  // for operators; without passwords
  bool shared = false;     // several processes may use it
  bool durable = false;    // an acknowledged record survives the machine's power loss
};

// The interface of a guard store. Guards share a store by std::shared_ptr. Any thread may call any verb.
class GuardStore {
 public:
  GuardStore() = default;
  GuardStore(const GuardStore&) = delete;
  GuardStore& operator=(const GuardStore&) = delete;
  virtual ~GuardStore() = default;

  // Starts the call, or answers with the record that blocks it. Throws StoreUnavailable.
  [[nodiscard]] virtual GuardAnswer begin(const GuardBegin& request) = 0;

  // Renews the heartbeats of all `held` and returns the indexes of holds that were lost (taken over, forgotten). A
  // record that cannot be renewed does not stop the others: all are tried, then the first failure is thrown. One thread
  // per process and store calls beat while anything is held, at least every third of the shortest takeover_after (every
  // 10 s for `never`), with all that this process holds in the store. The store may write once per record or once per
  // process.
  [[nodiscard]] virtual std::vector<std::size_t> beat(std::span<const GuardHold> held) = 0;

  // Records the end of a call.
  [[nodiscard]] virtual GuardVerdict finish(const GuardHold& hold, const GuardFinish& finish) = 0;

  // One record (none: absent or expired), a page of records, and the removal of one.
  [[nodiscard]] virtual std::optional<GuardRecord> read(const GuardKey& key) = 0;
  [[nodiscard]] virtual GuardPage list(const GuardQuery& query) = 0;
  virtual GuardForgotten forget(const GuardKey& key, bool even_in_progress) = 0;

  // Returns when the record of `key` may no longer be held under `fence`, or after `at_most`. A hint: an early return
  // is always allowed, and the caller asks again. The default reads the record in growing intervals, 1 ms to 100 ms.
  virtual void wait_changed(const GuardKey& key, std::int64_t fence, Duration at_most);

  // Removes up to `limit` expired records; returns how many. Correctness never waits for a sweep. A store with nothing
  // to remove, or that removes by itself, returns 0.
  virtual std::size_t sweep(std::size_t limit);

  [[nodiscard]] virtual GuardStoreInfo info() const = 0;
};

using GuardStorePtr = std::shared_ptr<GuardStore>;

// ---- The stores that need nothing else ---------------------------------------------------------------------------

struct MemoryGuardOptions {
  // The most records kept. Beyond it, expired records are dropped first, then the ended records that were written
  // first. When all are in progress, begin throws StoreUnavailable, because dropping one could double its effect.
  std::size_t max_records = 1'000'000;
};

// A store for ONE process: other processes, a forked child, and this program after a restart do not see its records.
// Where they must, use a file, Redis, SQLite or PostgreSQL store.
[[nodiscard]] GuardStorePtr memory_guard_store(const MemoryGuardOptions& options = {});

struct FileGuardOptions {
  // fsync of file and folder before an answer; without it a power cut may lose acknowledged records.
  bool sync = true;
  // How long a verb waits for the lock of a sub-folder, which a stalled disk or a stopped process may hold, before it
  // throws StoreBusy: 1 ms to 10 minutes. A heartbeat does not wait that long: it renews the other records meanwhile.
  Duration lock_timeout = std::chrono::seconds(30);
};

// A store for any number of processes of ONE machine (one kernel: not for network file systems). Creates `folder` if it
// does not exist.
[[nodiscard]] GuardStorePtr file_guard_store(const std::string& folder, const FileGuardOptions& options = {});

// ---- The stores that stand on a server or a database ---------------------------------------------------------------

// A store in Redis, for any number of machines: redis://[user[:password]@]host[:port][/database], rediss:// for the
// same over TLS, or redis+unix:///path/of.sock. Parameters behind a question mark: prefix ("hapax:guard:"; for a
// cluster a prefix with a hash tag, such as "{guard}:"), timeout and connect_timeout (2s each), connections (16),
// database. With TLS also ca_file (trusted authorities; default: the system's), cert_file and key_file (the client's
// certificate); the server's certificate is always verified. Records are as durable as the server's configuration makes
// them. Throws StoreUnavailable when the server cannot be used, ConfigurationError for a file that cannot.
[[nodiscard]] GuardStorePtr redis_guard_store(const std::string& url);

class App;

// A store that keeps records as executions in the app's own store (queue "hapax.guard"), shared by all programs that
// use that store. Like the app, not for use in a forked child.
[[nodiscard]] GuardStorePtr guard_store(const App& app);

// Opens a store by URL: "memory:", "file:/var/lib/app/guard" (and "?lock_timeout=30s", see FileGuardOptions),
// "redis://…", "rediss://…", "sqlite:app.db", "postgresql://…". Throws InvalidArgument for any other URL.
[[nodiscard]] GuardStorePtr open_guard_store(const std::string& url);

}  // namespace hapax
