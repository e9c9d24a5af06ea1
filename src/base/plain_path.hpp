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
    std::string_view("batch-gather"),        // a leader waits for the blocking callers that the last call answered
    std::string_view("batch-gather-async"),  // the background thread waits for asynchronous callers to come back
    std::string_view("batch-burst"),         // a call waits for requests that are announced to follow at once
    std::string_view("batch-second-call"),   // a server gets a second call while the first is under way
    std::string_view("outcome-company"),     // a few workflows' outcomes wait for the outcomes of more
    std::string_view("outcome-halving"),     // outcomes of all workflows at once go to a server in two halves
};

// Whether HAPAX_PLAIN_PATHS names this path, which is one of fast_paths.
[[nodiscard]] bool takes_plain_path(std::string_view fast_path);

}  // namespace hapax::base
