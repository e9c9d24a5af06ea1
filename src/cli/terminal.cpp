#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace hapax::cli {
namespace {

Terminal look_at(int descriptor) {
  Terminal terminal;
  terminal.is_tty = isatty(descriptor) == 1;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool refused = no_colour != nullptr && *no_colour != '\0';
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  terminal.colours = terminal.is_tty && !refused && !dumb;
  winsize size{};
  if (terminal.is_tty && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.columns = size.ws_col;
  }
  return terminal;
}

bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

}  // namespace

const Terminal& output_terminal() {
  static const Terminal terminal = look_at(STDOUT_FILENO);
  return terminal;
}

const Terminal& error_terminal() {
  static const Terminal terminal = look_at(STDERR_FILENO);
  return terminal;
}

std::string paint(const Terminal& terminal, Style style, std::string_view text) {
  if (!terminal.colours || style == Style::plain || text.empty()) { return std::string(text); }
  const char* code = "0";
  switch (style) {
    case Style::plain: break;
    case Style::bold: code = "1"; break;
    case Style::dim: code = "2"; break;
    case Style::good: code = "32"; break;
    case Style::bad: code = "31"; break;
    case Style::warn: code = "33"; break;
    case Style::busy: code = "36"; break;
  }
  return "\033[" + std::string(code) + "m" + std::string(text) + "\033[0m";
}

namespace {

struct CodePoints {
  char32_t first;
  char32_t last;
};

// Terminals show these code points in two columns (Unicode's East Asian Width, wide and full).
constexpr std::array<CodePoints, 14> wide{{{0x1100, 0x115F},
                                           {0x2E80, 0x303E},
                                           {0x3041, 0x33FF},
                                           {0x3400, 0x4DBF},
                                           {0x4E00, 0x9FFF},
                                           {0xA000, 0xA4CF},
                                           {0xAC00, 0xD7A3},
                                           {0xF900, 0xFAFF},
                                           {0xFE30, 0xFE6F},
                                           {0xFF00, 0xFF60},
                                           {0xFFE0, 0xFFE6},
                                           {0x1F300, 0x1F64F},
                                           {0x1F900, 0x1F9FF},
                                           {0x20000, 0x3FFFD}}};
// Terminals show these code points on top of the character before.
constexpr std::array<CodePoints, 5> combining{
    {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}}};

template <std::size_t count>
bool is_among(char32_t point, const std::array<CodePoints, count>& ranges) {
  return std::ranges::any_of(ranges,
                             [point](const CodePoints& each) { return point >= each.first && point <= each.last; });
}

}  // namespace

Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  Character character;
  while (character.bytes < text.size() && !starts_character(text[character.bytes])) { ++character.bytes; }
  char32_t point = lead < 0x80 ? lead : lead < 0xE0 ? lead & 0x1FU : lead < 0xF0 ? lead & 0x0FU : lead & 0x07U;
  for (const char byte : text.substr(1, character.bytes - 1)) {
    point = point << 6U | (static_cast<unsigned char>(byte) & 0x3FU);
  }
  character.columns = is_among(point, combining) ? 0 : is_among(point, wide) ? 2 : 1;
  return character;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    width += character.columns;
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string fit(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) { return std::string(text); }
  std::size_t width = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    const Character character = first_character(text.substr(end));
    width += character.columns;
    if (width >= columns) { break; }  // one column is for the ellipsis
    end += character.bytes;
  }
  return std::string(text.substr(0, end)) + "…";
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
}

}  // namespace hapax::cli
