// Any text is a cron expression or is refused by name; and the ticks of one that is follow each other without a hole,
// whichever way they are asked for.
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

// Few bytes make an expression, where it would have to be found character by character.
std::string spelt(std::string_view bytes) {
  static constexpr std::array<std::string_view, 32> words = {
      " ", " ", " ", "*", "* ", "* * * ", "*/", "?", ",",   "-",   "/", "0",    "1",  "2",   "3",   "4",
      "5", "7", "9", "L", "L-", "W",      "LW", "#", "MON", "sun", "#", "FRI#", "5L", "JAN", "feb", "@every "};
  std::string out;
  for (const char byte : bytes) { out += words[static_cast<std::uint8_t>(byte) % words.size()]; }
  return out;
}

void check_expression(std::string_view text, std::uint64_t choice) {
  try {
    const hapax::schedule::Cron cron = hapax::schedule::parse_cron(text);
    const Timetable timetable(cron, zone_by(choice));
    require(!timetable.describe().empty());
    require(hapax::schedule::parse_cron(cron.text).fields == cron.fields);
    // About the years of ticks, and a little on both sides.
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
  check_expression(spelt(text), choice);
  // A name that is unknown is compared with all that are known: too slow to be done each time.
  if (choice % 64 == 63) { check_zone(text); }
  return 0;
}
