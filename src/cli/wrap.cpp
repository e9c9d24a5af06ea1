#include "cli/wrap.hpp"

#include "cli/terminal.hpp"

#include <algorithm>

namespace hapax::cli {

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::size_t width = 0;
    std::size_t end = 0;    // the end of the part that fits
    std::size_t blank = 0;  // the last blank in that part
    while (end < text.size()) {
      const Character next = first_character(text.substr(end));
      width += next.columns;
      if (width > columns) { break; }
      if (text[end] == ' ') { blank = end; }
      end += next.bytes;
    }
    const bool is_broken = end < text.size();
    if (is_broken && text[end] != ' ' && blank > 0) { end = blank; }
    if (is_broken && end == 0) { end = text.size(); }  // no room for a single character
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return lines;
}

}  // namespace hapax::cli
