// The options of the app's calls, as plain structs with their defaults. All durations count from the store's now.
#pragma once

#include <hapax/policy.hpp>
#include <hapax/time.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax {

struct OpenOptions {
  std::string ns = "default";  // the namespace (tenant) this app works in
  // Brings the store's schema up to date. None: SQLite yes, PostgreSQL no (run `hapax migrate`).
  std::optional<bool> migrate{};
  bool must_exist = false;  // SQLite: do not create the file
  // A hapax.toml. It is applied to the store when it is another than was applied last; an empty URL is taken from it.
  std::string config{};
  // Who this program acts as: kept with what it enqueues, and in the audit with what it cancels, retries and changes. Empty:
  // "code" in the audit, nothing with executions.
  std::string actor{};
  // Payloads are encrypted with the keys of this file (docs/operating/security.md). Empty: with those of `config`, if it
  // names some; a store whose payloads are encrypted is not opened without.
  std::string encryption_key_file{};
  // Bytes of an input or a result, 1 KiB to 8 MiB; larger ones are refused with PayloadTooLarge. It holds for the whole
  // process, guards included. 0: what `config` says, else as it is, which is 1 MiB in the beginning.
  std::size_t payload_limit = 0;
};

// What is not set comes from the task's TaskOptions.
struct EnqueueOptions {
  std::optional<std::string> task_id{};  // the key under which this is unique; 1 to 255 bytes of UTF-8
  std::optional<std::string> queue{};
  std::optional<Duration> delay{};  // not before this much later
  std::optional<Time> run_at{};     // not before this instant; not together with delay
  std::optional<int> priority{};
  std::optional<int> max_attempts{};
  OnConflict on_conflict = OnConflict::return_existing;  // when the key's holder is live
  std::optional<Reuse> reuse{};                          // when the key's holder has ended
  std::optional<Duration> wait_timeout{};                // for OnConflict::wait; none: as long as it takes
  std::vector<std::string> tags{};
  nlohmann::json metadata{};  // an object, or null for none
  std::optional<Duration> timeout{};
  std::optional<Duration> deadline{};
  std::optional<RetryPolicy> retry{};
  std::optional<std::string> effect_key{};  // what handlers hand on; none: derived from the key, or from the execution

  // Ways to meet a held key beyond holding it; at most one of them, and never without a key or strategy.
  std::optional<Duration> throttle{};  // within so long of the first, the first answers; later ones run anew
  std::optional<Duration> debounce{};  // runs so long after the last request, with the last one's input
  bool keep_last = false;              // at most one running and one pending, the latest

  // Executions of one queue that share a key: never more of them at once than the queue's key_concurrency (1 unless
  // configured), or strictly one after the other in the order of their admission. At most one of the two.
  std::optional<std::string> concurrency_key{};
  std::optional<std::string> ordering_key{};
  int weight = 1;             // how many starts it counts as under a rate limit, 1 to 1,000
  std::string traceparent{};  // W3C trace context
};

struct BulkProgress {
  std::size_t admitted = 0;  // so far, all batches
  std::size_t created = 0;
  std::size_t deduplicated = 0;
};

struct BulkOptions {
  int batch = 5000;       // executions of one transaction, 1 to 5,000: all of a batch or none
  EnqueueOptions each{};  // for items that carry none of their own
  std::function<void(const BulkProgress&)> progress{};  // after each batch, on the caller's thread
};

struct WorkerOptions {
  std::vector<std::string> queues = {"default"};
  int threads = 0;                            // handlers at once; 0: as many as the machine has cores
  Duration lease = std::chrono::seconds(30);  // a crashed worker's executions run elsewhere after this (+ 1 s)
  std::optional<Duration> heartbeat{};        // none: a third of the lease
  Duration grace = std::chrono::seconds(30);  // how long stop() lets handlers finish
  int prefetch = 0;                           // executions held at once; 0: by measure
  std::string name{};                         // a label for people; empty: host and process id
  std::string build{};                        // a label of the program's version
  int workflow_cache = 1000;                  // waiting workflows kept in memory, so that they go on without a replay
  std::size_t workflow_stack = 256 << 10;     // bytes of stack a workflow's function has; steps run on the thread's own
  bool sweep = true;                          // also look after lost workers, deadlines and retention
  bool schedules = true;                      // also start what schedules are due for
  // How often what has expired is deleted. None: [cleanup] interval as it is stored, or an hour.
  std::optional<Duration> cleanup_interval{};
  // Something a person may want to know: the store is away, the session was lost, a handler does not return. Called on
  // the worker's own threads; must not throw.
  std::function<void(std::string_view)> on_trouble{};
};

}  // namespace hapax
