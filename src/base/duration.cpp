#include <hapax/error.hpp>
#include <hapax/time.hpp>

#include "base/text.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

namespace hapax {

namespace {

struct Unit {
  std::string_view name;
  std::uint64_t microseconds;
};

// Largest first: the order of units in a duration's text.
constexpr std::array<Unit, 7> units = {{{"w", 604'800'000'000},
                                        {"d", 86'400'000'000},
                                        {"h", 3'600'000'000},
                                        {"m", 60'000'000},
                                        {"s", 1'000'000},
                                        {"ms", 1'000},
                                        {"us", 1}}};

constexpr std::uint64_t longest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

[[noreturn]] void refuse(std::string_view text, std::string_view field, std::string_view reason) {
  throw InvalidArgument(std::string(field),
                        base::quoted(text) + " " + std::string(reason) +
                            "; expected a duration such as \"90s\", \"15m\", \"1h30m\", \"30d\" or \"0\"");
}

}  // namespace

Duration parse_duration(std::string_view text, std::string_view field) {
  if (text == "0") { return Duration(0); }
  if (text.empty()) { refuse(text, field, "is empty"); }
  if (text.front() == '-') { refuse(text, field, "is negative"); }
  std::uint64_t total = 0;
  std::size_t next_unit = 0;  // units before this one may not follow
  std::string_view rest = text;
  while (!rest.empty()) {
    std::uint64_t count = 0;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
    if (problem == std::errc::result_out_of_range) { refuse(text, field, "is too long"); }
    if (problem != std::errc()) { refuse(text, field, "is not a duration"); }
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (!rest.empty() && (rest.front() == '.' || rest.front() == ',')) { refuse(text, field, "has a fraction"); }
    const std::string_view name = rest.substr(0, rest.find_first_of("0123456789"));
    if (name.empty()) { refuse(text, field, "has no unit"); }
    std::size_t unit = 0;
    while (unit < units.size() && units[unit].name != name) { ++unit; }
    if (unit == units.size()) { refuse(text, field, "has an unknown unit"); }
    if (unit < next_unit) { refuse(text, field, "does not name its units once each, largest first"); }
    next_unit = unit + 1;
    rest.remove_prefix(name.size());
    if (count > (longest - total) / units[unit].microseconds) { refuse(text, field, "is too long"); }
    total += count * units[unit].microseconds;
  }
  return Duration(static_cast<std::int64_t>(total));
}

std::string format_duration(Duration duration) {
  if (duration == Duration::zero()) { return "0"; }
  std::string text;
  auto left = static_cast<std::uint64_t>(duration.count());
  if (duration < Duration::zero()) {
    text = "-";
    left = 0 - left;
  }
  for (const Unit& unit : units) {
    // Days, however many: 7d stays 7d, and 30d does not become 4w2d.
    if (unit.name == "w") { continue; }
    if (const std::uint64_t count = left / unit.microseconds; count > 0) {
      text += std::to_string(count);
      text += unit.name;
      left %= unit.microseconds;
    }
  }
  return text;
}

}  // namespace hapax
