// Every limit on loops, batches, strings and payloads, with its reason. Values without a unit in their name are counts.
#pragma once

#include <hapax/time.hpp>

#include <cstddef>
#include <cstdint>

namespace hapax::limits {

// The limit of an input and of a result: the default, and the range in which it can be set (base/payload_limit.hpp).
// Programs on both sides can hold an answer with a hundred payloads of the default limit, or with a few of the largest.
inline constexpr std::size_t payload_default = 1 << 20;
inline constexpr std::size_t payload_min = 1 << 10;
inline constexpr std::size_t payload_max = 8 << 20;
inline constexpr std::size_t json_depth = 64;
inline constexpr std::size_t name_bytes = 200;        // namespace, queue, task, tag, worker label
inline constexpr std::size_t key_bytes = 255;         // a caller's idempotency key
inline constexpr std::size_t tracestate_bytes = 512;  // W3C: what everybody passes on
inline constexpr std::size_t tags = 20;               // per execution
inline constexpr std::size_t metadata_bytes = 16 << 10;
inline constexpr std::size_t question_bytes = 64 << 10;  // a query to a workflow from another process
// How much of a caller's text an error shows: enough to recognise it. Names longer than suggestion_bytes get no "did
// you mean", because the comparison costs the product of both lengths.
inline constexpr std::size_t echo_bytes = 200;
inline constexpr std::size_t suggestion_bytes = 64;
inline constexpr std::size_t error_message_bytes = 4 << 10;  // a longer message is cut, never refused
inline constexpr std::size_t error_detail_bytes = 16 << 10;  // a longer detail is cut, never refused; its end is kept
inline constexpr std::size_t configuration_bytes = 1 << 20;  // a hapax.toml
inline constexpr std::size_t note_bytes = 2 << 10;
inline constexpr std::size_t progress_message_bytes = 500;
inline constexpr std::size_t cron_bytes = 255;  // a cron expression
inline constexpr std::size_t zone_bytes = 64;   // a time zone's name
inline constexpr std::size_t activity_bytes = 64 << 10;
// An event becomes part of the input of the task it starts, once as it came and perhaps once more through a template,
// so it is smaller and flatter than an input may be. CloudEvents requires 64 KiB at least.
inline constexpr std::size_t event_bytes = 256 << 10;
inline constexpr std::size_t event_depth = 40;
inline constexpr std::size_t event_source_bytes = 1024;      // also its subject, dataschema and extensions
inline constexpr std::size_t event_extensions = 32;          // attributes that CloudEvents does not define
inline constexpr std::size_t template_depth = 16;            // together with event_depth below json_depth
inline constexpr std::size_t last_result_bytes = 256 << 10;  // a longer result is not passed to the next run

inline constexpr int priority_min = -32768;
inline constexpr int priority_max = 32767;
inline constexpr int max_attempts = 1000;
inline constexpr int queues_per_claim = 256;
inline constexpr int tasks_per_claim = 1000;
inline constexpr int concurrency = 1'000'000;      // of a queue, a worker or a key
inline constexpr int rate = 1'000'000;             // starts that a rate limit may allow per period, and its burst
inline constexpr int weight = 1000;                // of one execution under a rate limit
inline constexpr int parked_keys_per_scan = 1000;  // limit keys that one search for stranded executions visits
inline constexpr int worker_threads = 1024;        // of one worker's pool

inline constexpr int events_per_batch = 1000;
inline constexpr int event_types = 100;       // patterns of one event trigger
inline constexpr int filter_conditions = 20;  // of one event trigger
inline constexpr int filter_values = 100;     // of one condition
inline constexpr int task_instances = 50;     // of one run of an activity
inline constexpr int catchup_limit = 1000;
inline constexpr int ticks_at_once = 100;   // runs of one activity that one pass of the ticker may start
inline constexpr int buffered_runs = 1000;  // of one activity, waiting for the run before them
inline constexpr int preview_fires = 1000;

inline constexpr int catalogue_rounds = 10;  // times a request is rebuilt because the catalogue changed meanwhile
inline constexpr int admit_batch = 1000;     // items in one admit transaction
inline constexpr int bulk_batch = 5000;      // rows of one bulk-enqueue transaction
inline constexpr int claim_batch = 1000;     // executions in one claim
inline constexpr int finish_batch = 2000;    // outcomes in one exchange
inline constexpr int sweep_batch = 1000;     // rows that one sweep may change per kind of work
inline constexpr int list_page = 1000;
// A page with payloads, or a claim, ends after the execution that brings it to this size, however many were asked for:
// 1,000 inputs of 1 MiB in one answer would take a gigabyte in the store, the server and the client at once.
inline constexpr std::size_t list_bytes = 16 << 20;
inline constexpr std::size_t claim_bytes = 16 << 20;
// A search by text reads every payload it looks at. The search stops after this many executions, or after the execution
// that brings the payloads to this many bytes, and returns where to continue.
inline constexpr int search_rows = 10'000;
inline constexpr std::size_t search_bytes = 64 << 20;

// A sweep sets a row on which it fails aside for a while, so that the other rows are swept.
inline constexpr std::size_t sweep_set_aside = 10'000;  // rows set aside that a process remembers
inline constexpr Duration sweep_set_aside_for = std::chrono::minutes(1);
inline constexpr int sweep_failures = 3;                 // failed sweeps in a row after which a server is not ready
inline constexpr std::size_t sweep_error_bytes = 2000;   // of a failed sweep's message
inline constexpr std::size_t payload_shown_bytes = 200;  // of a payload that does not convert, in the error message

inline constexpr Duration audit_kept = std::chrono::days(400);  // a year and a month, for yearly reviews
inline constexpr int tokens = 1000;                             // valid tokens of one namespace
inline constexpr Duration delay_max = std::chrono::days(3660);  // the latest run_at: ten years ahead
// Schedules have ticks from 1970 to the end of 2199, so that a search for the next tick ends.
inline constexpr Time first_tick = std::chrono::sys_days(std::chrono::year(1970) / 1 / 1);
inline constexpr Time ticks_end = std::chrono::sys_days(std::chrono::year(2200) / 1 / 1);
inline constexpr Duration lease_min = std::chrono::milliseconds(100);
inline constexpr Duration lease_max = std::chrono::hours(24);

}  // namespace hapax::limits
