#include "schedule/cron/cases.hpp"

#include <hapax/error.hpp>

#include "schedule/cron_timetable.hpp"

#include <algorithm>
#include <stdexcept>

namespace hapax::cron_oracle {

namespace {

using schedule::Timetable;

constexpr std::int64_t day_s = 86'400;
constexpr std::int64_t first_s = 94'694'400;   // 1973
constexpr std::int64_t end_s = 7'255'440'000;  // 2199-12-01
constexpr std::int64_t in_2038_s = 2'147'483'648;
constexpr std::int64_t in_2096_s = 3'976'214'400;
constexpr std::int64_t in_2104_s = 4'228'675'200;
constexpr std::size_t walked_ticks = 2000;  // of one case; a case with more ticks is walked in stretches of this length

// Shifts of half an hour, one, two, three and seven hours, and a day; at midnight, at 00:01, at 24:00; forward in
// winter; three and more a year; and zones without shifts for long, or ever.
constexpr const char* zone_names[] = {"UTC",
                                      "Europe/Zurich",
                                      "Europe/London",
                                      "Europe/Dublin",
                                      "Europe/Volgograd",
                                      "America/New_York",
                                      "America/Los_Angeles",
                                      "America/St_Johns",
                                      "America/Sao_Paulo",
                                      "America/Havana",
                                      "America/Asuncion",
                                      "America/Santiago",
                                      "America/Caracas",
                                      "America/Nuuk",
                                      "America/Scoresbysund",
                                      "America/Danmarkshavn",
                                      "Atlantic/Azores",
                                      "Africa/Cairo",
                                      "Africa/Casablanca",
                                      "Africa/El_Aaiun",
                                      "Africa/Juba",
                                      "Africa/Monrovia",
                                      "Asia/Amman",
                                      "Asia/Beirut",
                                      "Asia/Gaza",
                                      "Asia/Kathmandu",
                                      "Asia/Kolkata",
                                      "Asia/Pyongyang",
                                      "Asia/Tehran",
                                      "Asia/Ust-Nera",
                                      "Asia/Tokyo",
                                      "Antarctica/Casey",
                                      "Antarctica/Troll",
                                      "Antarctica/Vostok",
                                      "Australia/Lord_Howe",
                                      "Australia/Sydney",
                                      "Pacific/Apia",
                                      "Pacific/Chatham",
                                      "Pacific/Easter",
                                      "Pacific/Fakaofo",
                                      "Pacific/Kiritimati",
                                      "Pacific/Kwajalein",
                                      "Pacific/Norfolk"};

// Finds shifts by changes of the offset from UTC: day by day, then by bisection.
std::vector<std::int64_t> find_shifts(absl::TimeZone rules) {
  const auto offset = [&](std::int64_t at) { return rules.At(absl::FromUnixSeconds(at)).offset; };
  std::vector<std::int64_t> shifts;
  int known = offset(first_s);
  for (std::int64_t at = first_s + day_s; at < end_s; at += day_s) {
    if (offset(at) == known) { continue; }
    std::int64_t before = at - day_s;
    std::int64_t after = at;
    while (after - before > 1) {
      const std::int64_t middle = before + (after - before) / 2;
      (offset(middle) == known ? before : after) = middle;
    }
    shifts.push_back(after);
    known = offset(at);
  }
  return shifts;
}

struct Case {
  Expression expression;
  const World::Place* place;
  Window window;
  std::optional<std::int64_t> shift_s;
};

std::int64_t between(base::Random& random, std::int64_t least, std::int64_t end) {
  return least + static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(end - least));
}

// A random shift of the zone: half of the draws take one before 2038, the other half any.
std::int64_t pick_shift(base::Random& random, const std::vector<std::int64_t>& shifts) {
  const auto early = std::lower_bound(shifts.begin(), shifts.end(), in_2038_s) - shifts.begin();
  const auto end = early > 0 && pick(random, 2) == 0 ? early : static_cast<std::ptrdiff_t>(shifts.size());
  return shifts[static_cast<std::size_t>(between(random, 0, end))];
}

std::int64_t pick_begin(base::Random& random) {
  switch (pick(random, 4)) {
    case 0: return between(random, first_s + 2 * day_s, end_s - 7 * day_s);
    case 1: return between(random, in_2096_s, in_2104_s);  // includes 2100, which is no leap year
    case 2: {
      // Near the end of a February.
      const absl::CivilSecond march(1974 + pick(random, 200), 3, 1);
      return absl::ToUnixSeconds(absl::FromCivil(march, absl::UTCTimeZone())) - between(random, 0, 7 * day_s);
    }
    default: return between(random, first_s + 2 * day_s, in_2038_s);
  }
}

Case make_case(const World& world, const CaseId& id) {
  base::SeededRandom random(id.seed * 0x9E37'79B9'7F4A'7C15U + id.number);
  (void)random.next();
  Case out;
  out.expression = random_expression(random);
  const auto& places = world.places();
  auto index = static_cast<std::size_t>(pick(random, static_cast<int>(places.size())));
  if (pick(random, 2) == 0) {
    while (places[index].shifts_s.empty()) { index = (index + 1) % places.size(); }
    out.shift_s = pick_shift(random, places[index].shifts_s);
  }
  out.place = &places[index];
  const std::int64_t begin =
      out.shift_s ? std::max(first_s + 2 * day_s, *out.shift_s - between(random, 0, 7 * day_s)) : pick_begin(random);
  out.window = {.after_s = begin, .until_s = begin + 7 * day_s};
  return out;
}

Time to_time(std::int64_t at_s) { return Time(std::chrono::seconds(at_s)); }

std::string told(std::optional<Time> time) { return time ? format_time(*time) : "none"; }
std::string told(std::int64_t at_s) { return format_time(to_time(at_s)); }

// Compares a timetable's answers with the ticks that the scan has found.
class Comparison {
 public:
  Comparison(const Timetable& timetable, const Case& subject, const std::vector<std::int64_t>& ticks)
      : timetable_(timetable), subject_(subject), ticks_(ticks) {}

  std::optional<std::string> run(base::Random& random) {
    const Window& window = subject_.window;
    const std::int64_t count = timetable_.count(to_time(window.after_s), to_time(window.until_s));
    if (count != static_cast<std::int64_t>(ticks_.size())) {
      return "count() is " + std::to_string(count) + ", the scan found " + std::to_string(ticks_.size());
    }
    if (auto wrong = walk(0)) { return wrong; }
    if (ticks_.size() > walked_ticks) {
      if (auto wrong = walk(static_cast<std::size_t>(between(random, 0, std::ssize(ticks_))))) { return wrong; }
      if (subject_.shift_s) {
        const auto near = std::lower_bound(ticks_.begin(), ticks_.end(), *subject_.shift_s) - ticks_.begin();
        const auto half = static_cast<std::ptrdiff_t>(walked_ticks / 2);
        if (auto wrong = walk(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, near - half)))) { return wrong; }
      }
    }
    if (subject_.shift_s && *subject_.shift_s > window.after_s) {
      if (auto wrong = look_around(*subject_.shift_s - 1, Duration(999'999))) { return wrong; }
      if (auto wrong = look_around(*subject_.shift_s, Duration(0))) { return wrong; }
    }
    for (int probe = 0; probe < 10; ++probe) {
      const std::int64_t at = between(random, window.after_s, window.until_s);
      if (auto wrong = look_around(at, Duration(pick(random, 1'000'000)))) { return wrong; }
    }
    return std::nullopt;
  }

 private:
  // Walks from one tick over the following ones, and back.
  std::optional<std::string> walk(std::size_t first) {
    const std::size_t end = std::min(ticks_.size(), first + walked_ticks);
    Time at = to_time(first == 0 ? subject_.window.after_s : ticks_[first - 1]);
    for (std::size_t index = first; index < end; ++index) {
      const auto next = timetable_.next(at);
      if (next != to_time(ticks_[index])) { return wrong_answer("next", at, next, told(ticks_[index])); }
      at = *next;
    }
    if (end == ticks_.size()) {
      const auto next = timetable_.next(at);
      if (next && *next <= to_time(subject_.window.until_s)) { return wrong_answer("next", at, next, "none here"); }
    }
    at = to_time(end == ticks_.size() ? subject_.window.until_s : ticks_[end] - 1);
    for (std::size_t index = end; index > first; --index) {
      const auto previous = timetable_.previous(at);
      if (previous != to_time(ticks_[index - 1])) {
        return wrong_answer("previous", at, previous, told(ticks_[index - 1]));
      }
      at = *previous - Duration(1);
    }
    return std::nullopt;
  }

  std::optional<std::string> look_around(std::int64_t at_s, Duration into_second) {
    const Time at = to_time(at_s) + into_second;
    const auto after = std::upper_bound(ticks_.begin(), ticks_.end(), at_s);
    if (after != ticks_.end()) {
      const auto next = timetable_.next(at);
      if (next != to_time(*after)) { return wrong_answer("next", at, next, told(*after)); }
    }
    if (after != ticks_.begin()) {
      const auto previous = timetable_.previous(at);
      if (previous != to_time(*(after - 1))) { return wrong_answer("previous", at, previous, told(*(after - 1))); }
    }
    const std::int64_t count = timetable_.count(to_time(subject_.window.after_s), at);
    if (count != after - ticks_.begin()) {
      return "count() up to " + told(at) + " is " + std::to_string(count) + ", the scan found " +
             std::to_string(after - ticks_.begin());
    }
    return std::nullopt;
  }

  static std::string wrong_answer(const std::string& question, Time at, std::optional<Time> answer,
                                  const std::string& expected) {
    return question + "(" + told(at) + ") is " + told(answer) + ", the scan says " + expected;
  }

  const Timetable& timetable_;
  const Case& subject_;
  const std::vector<std::int64_t>& ticks_;
};

std::string reproduction(const Case& subject, const CaseId& id, const std::string& wrong) {
  return wrong + "\n  expression '" + subject.expression.text() + "' in " + subject.place->zone.name() + ", after " +
         told(subject.window.after_s) + " until " + told(subject.window.until_s) +
         (subject.shift_s ? ", shift at " + told(*subject.shift_s) : "") + "\n  again: cron_oracle --seed " +
         std::to_string(id.seed) + " --case " + std::to_string(id.number);
}

}  // namespace

World::World() {
  for (const char* const name : zone_names) {
    Place place{.zone = schedule::Zone::load(name)};
    if (!absl::LoadTimeZone(name, &place.rules)) { throw std::runtime_error(std::string("no zone ") + name); }
    place.shifts_s = find_shifts(place.rules);
    places_.push_back(std::move(place));
  }
}

Verdict check_case(const World& world, const CaseId& id) {
  const Case subject = make_case(world, id);
  Verdict verdict{.at_shift = subject.shift_s.has_value()};
  const std::string text = subject.expression.text();
  std::optional<schedule::Cron> cron;
  try {
    cron = schedule::parse_cron(text);
  } catch (const InvalidArgument& error) {
    verdict.never = std::string_view(error.what()).find("never fires") != std::string_view::npos;
    if (!verdict.never || has_any_day(subject.expression)) {
      verdict.disagreement = reproduction(subject, id, std::string("was refused: ") + error.what());
    }
    return verdict;
  }
  if (schedule::describe(*cron, "UTC").empty()) { verdict.disagreement = reproduction(subject, id, "no description"); }
  const std::vector<std::int64_t> ticks = scan(subject.expression, subject.place->rules, subject.window);
  verdict.ticks = ticks.size();
  const Timetable timetable(*cron, subject.place->zone);
  base::SeededRandom random(id.seed ^ id.number);
  if (auto wrong = Comparison(timetable, subject, ticks).run(random)) {
    verdict.disagreement = reproduction(subject, id, *wrong);
  }
  return verdict;
}

}  // namespace hapax::cron_oracle
