#include "schedule/zone.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace hapax::schedule {

namespace {

namespace fs = std::filesystem;
using absl::CivilSecond;
using std::chrono::seconds;
using Kind = absl::TimeZone::TimeInfo::CivilKind;

// Returns the zone database's folder by the rules that absl uses.
fs::path database() {
  const char* const folder = std::getenv("TZDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/usr/share/zoneinfo";
}

// Whether the text can be a zone's name. absl opens any path that it is given, and keeps each name for ever, valid or
// not.
bool is_name(std::string_view name) {
  if (name.empty() || name.size() > limits::zone_bytes || name.front() == '/' || name.back() == '/') { return false; }
  if (name == "localtime" || name == "posixrules" || name.starts_with("right/")) { return false; }
  return std::all_of(name.begin(), name.end(), [](char character) {
    return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_' || character == '/' ||
           character == '+' || character == '-';
  });
}

// The names in the database's text file: "Z Europe/Zurich 0:34:8 …", and "L Europe/Zurich Europe/Vaduz" for an alias.
// Empty if the file is missing.
std::vector<std::string> known_names() {
  constexpr std::size_t most_lines = 20'000;
  std::vector<std::string> names;
  std::ifstream file(database() / "tzdata.zi");
  std::string line;
  for (std::size_t count = 0; count < most_lines && std::getline(file, line); ++count) {
    if (line.starts_with("Z ")) {
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    } else if (line.starts_with("L ")) {
      names.push_back(line.substr(line.rfind(' ') + 1));
    }
  }
  return names;
}

std::string zone_lower(std::string_view text) {
  std::string out(text);
  for (char& character : out) {
    character = character == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  }
  return out;
}

// The nearest name, ignoring case. A city alone finds the zone named after it.
std::string nearest_name(std::string_view word) {
  const std::vector<std::string> names = known_names();
  const std::string wanted = zone_lower(word);
  std::vector<std::string> lowered;
  for (const std::string& name : names) {
    lowered.push_back(zone_lower(name));
    if (lowered.back().ends_with("/" + wanted)) { return name; }
  }
  const std::string found = base::closest(wanted, lowered);
  const auto at = std::find(lowered.begin(), lowered.end(), found);
  return at == lowered.end() ? std::string() : names[static_cast<std::size_t>(at - lowered.begin())];
}

[[noreturn]] void refuse(std::string_view name, std::string_view field) {
  const std::string near = name.empty() || name.size() > limits::suggestion_bytes ? std::string() : nearest_name(name);
  throw InvalidArgument(std::string(field), base::quoted(name) + " is not a time zone" +
                                                (near.empty() ? "" : "; did you mean \"" + near + "\"?") +
                                                "; expected an IANA name such as \"Europe/Zurich\" or \"UTC\"");
}

Instant from_absl(absl::Time time) { return Instant(seconds(absl::ToUnixSeconds(time))); }
absl::Time to_absl(Instant at) { return absl::FromUnixSeconds(at.time_since_epoch().count()); }

Wall from_absl(CivilSecond civil) { return Wall(seconds(civil - CivilSecond(1970, 1, 1))); }
CivilSecond to_absl(Wall wall) { return CivilSecond(1970, 1, 1, 0, 0, wall.time_since_epoch().count()); }

}  // namespace

Zone Zone::load(std::string_view name, std::string_view field) {
  Zone zone;
  if (name == "UTC") { return zone; }
  std::error_code problem;
  if (!is_name(name) || !fs::is_regular_file(database() / name, problem) ||
      !absl::LoadTimeZone(absl::string_view(name.data(), name.size()), &zone.rules_)) {
    refuse(name, field);
  }
  zone.name_ = name;
  return zone;
}

Wall Zone::wall(Instant at) const { return Wall(at.time_since_epoch() + seconds(rules_.At(to_absl(at)).offset)); }

Wall Zone::latest_wall(Instant at) const {
  const Wall shown = wall(at);
  const absl::TimeZone::TimeInfo found = rules_.At(to_absl(shown));
  if (found.kind != Kind::REPEATED || at < from_absl(found.trans)) { return shown; }
  const seconds offset_before = shown.time_since_epoch() - from_absl(found.pre).time_since_epoch();
  return Wall(from_absl(found.trans).time_since_epoch() + offset_before) - seconds(1);
}

Instant Zone::reached(Wall wall) const {
  const absl::TimeZone::TimeInfo found = rules_.At(to_absl(wall));
  return from_absl(found.kind == Kind::SKIPPED ? found.trans : found.pre);
}

std::optional<Zone::Shift> Zone::next_shift(Instant after) const {
  absl::TimeZone::CivilTransition found;
  if (!rules_.NextTransition(to_absl(after), &found)) { return std::nullopt; }
  const Wall from = from_absl(found.from);
  const Wall to = from_absl(found.to);
  // At the shift, clocks set forward show `to` for the first time, clocks set back for the second time.
  const Instant at = to > from ? reached(to) : from_absl(rules_.At(found.to).trans);
  return Shift{.at = at, .from = from, .to = to};
}

}  // namespace hapax::schedule
