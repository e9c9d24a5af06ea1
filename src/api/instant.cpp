#include "api/instant.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

#include <algorithm>
#include <chrono>

namespace hapax::api {
namespace {

constexpr std::size_t date_size = 10;    // 2026-03-01
constexpr std::size_t minute_size = 16;  // 2026-03-01T09:00
constexpr std::size_t second_size = 19;  // 2026-03-01T09:00:00

// Local time without a zone, parsed as if it were UTC.
schedule::Wall parse_wall(const std::string& text, std::string_view flag) {
  std::string whole = text;
  if (text.size() == date_size) { whole += "T00:00:00"; }
  if (text.size() == minute_size) { whole += ":00"; }
  return schedule::Wall(std::chrono::floor<std::chrono::seconds>(parse_time(whole + "Z", flag)).time_since_epoch());
}

Time parse(const std::string& text, const InstantRules& rules, std::string_view flag) {
  if (text == "now") { return rules.now; }
  const bool has_no_offset = text.size() == date_size || text.size() == minute_size || text.size() == second_size;
  if (!has_no_offset) { return parse_time(text, flag); }
  const schedule::Wall wall = parse_wall(text, flag);
  if (text.size() != date_size || rules.edge == DayEdge::begin) { return rules.zone.reached(wall); }
  const Time begin = rules.zone.reached(wall);
  const Time end = Time(rules.zone.reached(wall + std::chrono::days(1))) - Duration(1);
  return begin <= rules.now ? std::min(end, rules.now) : end;
}

}  // namespace

Time parse_instant(const std::string& text, const InstantRules& rules, std::string_view flag) {
  try {
    return parse(text, rules, flag);
  } catch (const InvalidArgument&) {
    throw InvalidArgument(std::string(flag),
                          base::quoted(text) +
                              " is not an instant; expected one such as 2026-03-01T09:00:00Z, a date or "
                              "time in " +
                              rules.zone.name() + " such as 2026-03-01 or 2026-03-01T09:00, or now");
  }
}

}  // namespace hapax::api
