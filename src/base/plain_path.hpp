// Fast paths that can be switched off, so that what each of them gains can be measured (bench/rig/turns.py).
//
// HAPAX_PLAIN_PATHS="batch-gather,batch-burst" in the environment: the process takes the plain path instead of the
// named fast ones; "all" names all of them. Results are the same on both paths. The variable is for benchmarks, and is
// read once. An unknown name ends the process: otherwise the measurement would compare a path with itself.
#pragma once

#include <array>
#include <string_view>

namespace hapax::base {

inline constexpr std::array fast_paths = {
    std::string_view("batch-gather"),        // a leader waits for the blocking callers that the last call answered
    std::string_view("batch-gather-async"),  // the background thread waits for asynchronous callers to come back
    std::string_view("batch-burst"),         // a call waits for requests that are announced to follow at once
    std::string_view("batch-second-call"),   // a server gets a second call while the first is under way
    std::string_view("outcome-company"),     // a few workflows' outcomes wait for the outcomes of more
    std::string_view("outcome-halving"),     // outcomes of all workflows at once go to a server in two halves
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
};

// Whether HAPAX_PLAIN_PATHS names this path, which is one of fast_paths.
[[nodiscard]] bool takes_plain_path(std::string_view fast_path);

}  // namespace hapax::base
