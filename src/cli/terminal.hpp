// The terminals behind standard output and error, colours, and display widths.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace hapax::cli {

struct Terminal {
  bool is_tty = false;
  bool colours = false;  // a terminal, NO_COLOR unset, TERM not "dumb"
  int columns = 80;
};

[[nodiscard]] const Terminal& output_terminal();  // standard output
[[nodiscard]] const Terminal& error_terminal();   // standard error

enum class Style : std::uint8_t { plain, bold, dim, good, bad, warn, busy };

// `text` in that style, if `terminal` shows colours.
[[nodiscard]] std::string paint(const Terminal& terminal, Style style, std::string_view text);

struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};
// The first character of `text`, which must not be empty. A byte that begins no character counts as one.
[[nodiscard]] Character first_character(std::string_view text);

// The columns that `text` takes on a terminal: two for a wide character such as 注, none for an accent that combines.
[[nodiscard]] std::size_t display_width(std::string_view text);
// `text` in at most `columns` columns, with an ellipsis if it was cut.
[[nodiscard]] std::string fit(std::string_view text, std::size_t columns);

// Writes `text` and a newline to standard output. main checks the stream before it ends, so a full disk is reported.
void print(std::string_view text);

}  // namespace hapax::cli
