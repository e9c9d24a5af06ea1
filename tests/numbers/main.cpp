// Reads the bits of one double per line, as 16 hex digits, and writes the double as canonical JSON does. Fails if the
// text does not read back as the same double.
#include "base/json_number.hpp"

#include <bit>
#include <charconv>
#include <cstdint>
#include <iostream>

int main() {
  std::ios::sync_with_stdio(false);
  std::string line;
  std::string out;
  while (std::getline(std::cin, line)) {
    std::uint64_t bits = 0;
    const char* const end = line.data() + line.size();
    const auto [read_to, problem] = std::from_chars(line.data(), end, bits, 16);
    if (line.size() != 16 || problem != std::errc() || read_to != end) {
      std::cerr << "number_writer: expected 16 hex digits a line, got '" << line << "'\n";
      return 1;
    }
    const auto number = std::bit_cast<double>(bits);
    out.clear();
    hapax::base::append_ecmascript_number(out, number);
    if (hapax::base::read_json_number(out) != number) {
      std::cerr << "number_writer: " << line << " was written as " << out << ", which reads as another number\n";
      return 1;
    }
    std::cout << out << '\n';
  }
  return std::cout.flush() ? 0 : 1;
}
