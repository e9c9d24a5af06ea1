// Short IDs of executions: a terminal shows the last 12 digits of an ID, and commands accept them in place of the whole
// ID.
#pragma once

#include "cli/shell.hpp"
#include "model/execution.hpp"

#include <string>

namespace hapax::cli {

// On a terminal the last 12 digits, which are random; elsewhere the whole ID.
[[nodiscard]] std::string shown_id(const Uuid& id);

// Returns a whole ID without looking it up. For at least the last 12 digits, finds the ID among the namespace's newest
// 100,000 executions, or dead letters. Throws InvalidArgument for any other text, NotFound when no ID ends so, BadUsage
// when several do.
enum class Among : std::uint8_t { all, dead_letters };
[[nodiscard]] Uuid find_id(Shell& shell, const std::string& text, Among among = Among::all);

}  // namespace hapax::cli
