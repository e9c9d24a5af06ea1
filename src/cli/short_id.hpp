// Ids of executions on a terminal: the last digits of one are shown, and taken in place of the whole.
#pragma once

#include "cli/shell.hpp"
#include "model/execution.hpp"

#include <string>

namespace hapax::cli {

// On a terminal the last 12 digits, which are random; elsewhere all of it.
[[nodiscard]] std::string shown_id(const Uuid& id);

// The id that is `text`, or the one that ends with it: of the namespace's newest executions, the dead letters alone when
// asked. Throws InvalidArgument for what is neither, NotFound when none ends so, BadUsage when several do.
enum class Among : std::uint8_t { all, dead_letters };
[[nodiscard]] Uuid find_id(Shell& shell, const std::string& text, Among among = Among::all);

}  // namespace hapax::cli
