// Breaks text into lines that fit a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hapax::cli {

// Lines of at most `columns`, broken at blanks; a longer word is broken at the line's end.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t columns);

}  // namespace hapax::cli
