// Every bound hapax puts on loops, batches, strings and payloads, in one place, each with its reason.
#pragma once

#include <hapax/time.hpp>

#include <cstddef>
#include <cstdint>

namespace hapax::limits {

// Input and result each, SPEC R5: unless told otherwise, and what they may be told to be (base/payload_limit.hpp). An
// answer with a hundred of the usual ones, or a few of the largest, is what programs of either side can hold.
inline constexpr std::size_t payload_usual = 1 << 20;
inline constexpr std::size_t payload_least = 1 << 10;
inline constexpr std::size_t payload_most = 8 << 20;
inline constexpr std::size_t json_depth = 64;
inline constexpr std::size_t name_bytes = 200;  // namespace, queue, task, tag, worker label
inline constexpr std::size_t key_bytes = 255;   // a caller's idempotency key, SPEC I7
inline constexpr std::size_t tags = 20;         // per execution
inline constexpr std::size_t metadata_bytes = 16 << 10;
inline constexpr std::size_t question_bytes = 64 << 10;  // to a workflow, from afar
// Of what a caller sent, in an error: enough to know it again. Names longer than suggestion_bytes get no "did you mean":
// the comparison costs the product of both lengths.
inline constexpr std::size_t echo_bytes = 200;
inline constexpr std::size_t suggestion_bytes = 64;
inline constexpr std::size_t error_message_bytes = 4 << 10;  // longer ones are cut, never refused
inline constexpr std::size_t error_detail_bytes = 16 << 10;  // likewise; the tail is kept
inline constexpr std::size_t configuration_bytes = 1 << 20;  // a hapax.toml
inline constexpr std::size_t note_bytes = 2 << 10;
inline constexpr std::size_t progress_message_bytes = 500;
inline constexpr std::size_t cron_bytes = 255;  // a cron expression
inline constexpr std::size_t zone_bytes = 64;   // a time zone's name
inline constexpr std::size_t activity_bytes = 64 << 10;
// An event goes into the input of what it starts, once as it came and perhaps once more by a template, so it is smaller
// and flatter than an input may be. CloudEvents asks for 64 KiB at least.
inline constexpr std::size_t event_bytes = 256 << 10;
inline constexpr std::size_t event_depth = 40;
inline constexpr std::size_t event_source_bytes = 1024;      // and its subject, dataschema, extensions
inline constexpr std::size_t event_extensions = 32;          // attributes beyond those of CloudEvents
inline constexpr std::size_t template_depth = 16;            // with event_depth below json_depth
inline constexpr std::size_t last_result_bytes = 256 << 10;  // a longer one is not handed to the next run

inline constexpr int priority_min = -32768;
inline constexpr int priority_max = 32767;
inline constexpr int max_attempts = 1000;
inline constexpr int queues_per_claim = 256;
inline constexpr int tasks_per_claim = 1000;
inline constexpr int concurrency = 1'000'000;      // of a queue, a worker or a key
inline constexpr int rate = 1'000'000;             // starts a rate limit may allow in its period, and its burst
inline constexpr int weight = 1000;                // of one execution under a rate limit
inline constexpr int parked_keys_per_look = 1000;  // limit keys that one look for stranded executions may visit
inline constexpr int worker_threads = 1024;        // of one worker's pool

inline constexpr int events_per_batch = 1000;
inline constexpr int event_types = 100;       // patterns of one event trigger
inline constexpr int filter_conditions = 20;  // of one event trigger
inline constexpr int filter_values = 100;     // of one condition
inline constexpr int task_instances = 50;     // of one run of an activity
inline constexpr int catchup_limit = 1000;
inline constexpr int ticks_at_once = 100;   // runs of one activity that one look of the ticker may start
inline constexpr int buffered_runs = 1000;  // of one activity, waiting for the run before them
inline constexpr int preview_fires = 1000;

inline constexpr int catalogue_rounds = 10;  // times a request is made again as the catalogue has changed
inline constexpr int admit_batch = 1000;     // items in one admit transaction
inline constexpr int bulk_batch = 5000;      // rows of one bulk-enqueue transaction, SPEC D11
inline constexpr int claim_batch = 1000;     // executions in one claim
inline constexpr int finish_batch = 2000;    // outcomes in one exchange
inline constexpr int sweep_batch = 1000;     // rows one sweep pass may change per kind of work
inline constexpr int list_page = 1000;
// A page with payloads ends behind the execution that brings it to this, a claim likewise, however many were asked for:
// 1,000 inputs of 1 MiB in one answer would be a gigabyte in the store, the server and the client at once.
inline constexpr std::size_t list_bytes = 16 << 20;
inline constexpr std::size_t claim_bytes = 16 << 20;
// A search by text reads every payload that it looks at: it stops at so many executions, or behind the one that brings
// their payloads to so many bytes, and tells where to go on.
inline constexpr int search_rows = 10'000;
inline constexpr std::size_t search_bytes = 64 << 20;

// A sweep that fails on a row passes over it for a while, so that the others get their turn.
inline constexpr std::size_t sweep_set_aside = 10'000;  // such rows of a process
inline constexpr Duration sweep_set_aside_for = std::chrono::minutes(1);
inline constexpr int sweep_failures = 3;                 // failed sweeps in a row after which a server is not ready
inline constexpr std::size_t sweep_error_bytes = 2000;   // of what is told of one
inline constexpr std::size_t payload_shown_bytes = 200;  // of a payload that does not convert, in the error about it

inline constexpr Duration audit_kept = std::chrono::days(400);  // a year and a month, for yearly reviews
inline constexpr int tokens = 1000;                             // of one namespace that are good at a time
inline constexpr Duration delay_max = std::chrono::days(3660);  // run_at at most ten years away
// Schedules have ticks from 1970 to the end of 2199: whoever looks for the next one does not look for ever.
inline constexpr Time first_tick = std::chrono::sys_days(std::chrono::year(1970) / 1 / 1);
inline constexpr Time ticks_end = std::chrono::sys_days(std::chrono::year(2200) / 1 / 1);
inline constexpr Duration lease_min = std::chrono::milliseconds(100);
inline constexpr Duration lease_max = std::chrono::hours(24);

}  // namespace hapax::limits
