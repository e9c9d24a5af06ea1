// Text in lines that fit a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hapax::cli {

// Lines of at most `columns`, broken at blanks; a word that is longer is broken where it has to be.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t columns);

}  // namespace hapax::cli
