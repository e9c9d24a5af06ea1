// Fast paths that can be switched off, so that the gain of each can be measured (bench/rig/turns.py).
//
// HAPAX_PLAIN_PATHS="batch-gather,batch-burst" in the environment: the process takes the plain path instead of the
// named fast ones; "all" names all of them. Results are the same on both paths. The variable is for benchmarks, and is
// read once. An unknown name ends the process: otherwise the measurement would compare a path with itself.
#pragma once

#include <array>
#include <string_view>

namespace hapax::base {

inline constexpr std::array fast_paths = {
    // Engine, workers, workflows.
    std::string_view("engine-born-running"),  // an idle worker of this process gets a new execution in its admission
    std::string_view("engine-questions"),     // claims look for questions to workflows every 20 ms, not every time
    std::string_view("pool-chunks"),          // a thread takes many quick runs from the queue at once
    std::string_view("batch-reserve"),        // a batch reserves memory for as many requests as the last call had
    std::string_view("lane-measuring"),       // lanes measure how long workflows take, and keep slow ones apart
    std::string_view("lane-batches"),         // a lane has up to 64 runs at a time, which share a call
    // SQLite.
    std::string_view("sqlite-many-admit"),     // admissions of eight or more items share statements
    std::string_view("sqlite-many-finish"),    // completions of eight or more executions share statements
    std::string_view("sqlite-many-turns"),     // turns of eight or more workflows, and their entries, share statements
    std::string_view("sqlite-warm-up"),        // a worker prepares its statements before its first work
    std::string_view("sqlite-log-filling"),    // the log is filled with zeros ahead of its frames
    std::string_view("sqlite-log-one-write"),  // a commit's frames go to the log in one write
    std::string_view("sqlite-shared-commit"),  // threads that write at the same time share one COMMIT
    std::string_view("sqlite-guard-hints"),    // a duplicate call of a guard reads one table, not two
    // PostgreSQL. Where several serve one request, the next that is not switched off takes it, and at last the steps of
    // admit_identity.cpp.
    std::string_view("pg-admit-plain"),     // requests without identity are one statement, without lock timeout
    std::string_view("pg-admit-copy"),      // 500 requests and more without identity go by COPY
    std::string_view("pg-admit-new"),       // requests that share most values and are all new are one statement
    std::string_view("pg-admit-new-copy"),  // 500 requests and more with identity that are all new go by COPY
    std::string_view("pg-admit-held"),      // requests whose holders need only be answered are one pipeline
    std::string_view("pg-lone-guard"),      // one guard begins and ends with a statement of plain values
    std::string_view("pg-plain-rows"),      // plain requests without identity are inserted with a quarter of the arrays
    std::string_view("pg-plainly-held"),    // plain requests with identity are inserted with half of the arrays
    std::string_view("pg-finish-plain"),    // outcomes are assumed to have no waiters
    std::string_view("pg-complete-all"),    // outcomes are assumed to be all plain completions
    std::string_view("pg-exchange-split"),  // from 128 on, outcomes and claims go side by side on two connections
    std::string_view("pg-turn-append"),     // turns that only append are written all or none
    std::string_view("pg-spin-wait"),       // the caller of a guard polls for the answer before it sleeps
    std::string_view("pg-limited-hint"),    // queues known to have limits are left out of the general claim
    std::string_view("pg-queue-ids"),       // ids of queues are kept in memory
    std::string_view("pg-lasting-guards"),  // guard records that are kept for ever are read and written without routing
    // Guards.
    std::string_view("guard-first-call"),  // a call that is likely the first does not look for a record on a server
    std::string_view("guard-cache"),       // GuardOptions::cache_records: records are kept in this process
    std::string_view("guard-batches"),     // begins and outcomes of several threads share a call
    // Events and bulk.
    std::string_view("event-batches"),      // while batches of runs are written, the next one is filled; batches grow
    std::string_view("bulk-encode-ahead"),  // while a batch of a bulk enqueue is written, the next one is encoded
    // Batches of requests.
    std::string_view("batch-gather"),  // a leader waits for the blocking callers that the last call answered
    std::string_view("batch-burst"),   // a call waits for requests that are announced to follow at once
};

// Whether HAPAX_PLAIN_PATHS names this path, which is one of fast_paths.
[[nodiscard]] bool takes_plain_path(std::string_view fast_path);

}  // namespace hapax::base
