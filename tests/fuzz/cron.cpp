// Any text is either a cron expression or refused by name; the ticks of an accepted one follow each other without gaps,
// in either direction.
#include <hapax/error.hpp>

#include "schedule/cron_timetable.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

using hapax::Duration;
using hapax::Time;
using hapax::schedule::Timetable;
using hapax::schedule::Zone;

void require(bool holds) {
  if (!holds) { std::abort(); }
}

const Zone& zone_by(std::uint64_t number) {
  static const std::array<Zone, 8> zones = {Zone(),
                                            Zone::load("Europe/Zurich"),
                                            Zone::load("America/Sao_Paulo"),
                                            Zone::load("Australia/Lord_Howe"),
                                            Zone::load("Pacific/Apia"),
                                            Zone::load("Antarctica/Casey"),
                                            Zone::load("Asia/Beirut"),
                                            Zone::load("Africa/Casablanca")};
  return zones[number % zones.size()];
}

void check_ticks(const Timetable& timetable, Time from) {
  constexpr int steps = 40;
  const auto before = timetable.previous(from);
  require(!before || *before <= from);
  Time at = from;
  for (int step = 0; step < steps; ++step) {
    const auto next = timetable.next(at);
    if (!next) { return; }
    require(*next > at);
    require(next->time_since_epoch() % std::chrono::seconds(1) == Duration(0));
    require(timetable.previous(*next) == next);
    require(timetable.previous(*next - Duration(1)) == (step == 0 ? before : at));
    require(timetable.count(at, *next) == 1);
    require(timetable.count(from, *next) == step + 1);
    at = *next;
  }
}

// Builds an expression from bytes, usually a valid one: random text would have to be found character by character.
class Grower {
 public:
  explicit Grower(std::string_view bytes) : rest_(bytes) {}

  std::string grow() {
    if (below(16) == 0) { return "@every " + std::to_string(below(256) * below(256)) + "s"; }
    std::string out = below(4) == 0 ? field(0, 59) + " " : "";
    out += field(0, 59) + " " + field(0, 23) + " ";
    out += (below(3) == 0 ? special_day() : field(1, 31)) + " " + field(1, 12) + " ";
    return out + (below(3) == 0 ? special_weekday() : field(0, 7));
  }

 private:
  int below(int count) {
    if (rest_.empty()) { return 0; }
    const int byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte % count;
  }

  // One value in 64 may lie just above the range.
  std::string value(int least, int most) { return std::to_string(least + below(most - least + 1) + below(64) / 63); }

  std::string field(int least, int most) {
    std::string out = item(least, most);
    for (int more = below(4); more > 1; --more) { out += "," + item(least, most); }
    return out;
  }

  std::string item(int least, int most) {
    switch (below(7)) {
      case 0: return "*";
      case 1: return "*/" + value(1, most);
      case 2: return value(least, most) + "-" + value(least, most);
      case 3: return value(least, most) + "-" + std::to_string(most) + "/" + value(1, most);
      case 4: return value(least, most) + "/" + value(1, most);
      default: return value(least, most);
    }
  }

  std::string special_day() {
    switch (below(4)) {
      case 0: return "L";
      case 1: return "LW";
      case 2: return value(1, 31) + "W";
      default: return "L-" + value(1, 30);
    }
  }

  std::string special_weekday() {
    static constexpr std::array<const char*, 7> names = {"SUN", "mon", "Tue", "WED", "thu", "FRI", "SAT"};
    const std::string day = names[static_cast<std::size_t>(below(7))];
    return below(2) == 0 ? day + "L" : day + "#" + value(1, 5);
  }

  std::string_view rest_;
};

void check_expression(std::string_view text, std::uint64_t choice) {
  try {
    const hapax::schedule::Cron cron = hapax::schedule::parse_cron(text);
    const Timetable timetable(cron, zone_by(choice));
    require(!timetable.describe().empty());
    require(hapax::schedule::parse_cron(cron.text).fields == cron.fields);
    // A time in the years that have ticks, or a little before or after.
    const auto span = static_cast<std::uint64_t>(std::chrono::microseconds(std::chrono::days(240 * 366)).count());
    check_ticks(timetable, Time(Duration(static_cast<Duration::rep>(choice % span)) - std::chrono::days(3660)));
  } catch (const hapax::InvalidArgument& error) {
    require(error.field() == "cron");
    require(std::string_view(error.what()).find("; ") != std::string_view::npos);
  }
}

void check_zone(std::string_view text) {
  try {
    require(Zone::load(text).name() == text);
  } catch (const hapax::InvalidArgument& error) { require(error.field() == "time_zone"); }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t choice = 0;
  const std::size_t head = std::min(size, sizeof(choice));
  std::memcpy(&choice, data, head);
  const std::string_view text(reinterpret_cast<const char*>(data) + head, size - head);
  check_expression(text, choice);
  check_expression(Grower(text).grow(), choice);
  // An unknown name is compared with all known names, which is too slow for every run.
  if (choice % 64 == 63) { check_zone(text); }
  return 0;
}
