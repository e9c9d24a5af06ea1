#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

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

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const char byte : text) { width += starts_character(byte) ? 1 : 0; }
  return width;
}

std::string fit(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) { return std::string(text); }
  std::size_t width = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    if (starts_character(text[end]) && ++width >= columns) { break; }
    ++end;
  }
  return std::string(text.substr(0, end)) + "…";
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
}

}  // namespace hapax::cli
