#include "schedule/cron_field.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>

namespace hapax::schedule {

namespace {

constexpr std::array<std::string_view, 12> cron_field_month_names = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                                     "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> cron_field_weekday_names = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

struct Rules {
  std::string_view name;
  int least;
  int most;       // greatest value that may be written
  int values;     // number of distinct values
  bool may_wrap;  // a range may wrap around the end
  std::span<const std::string_view> names;
  std::string_view example;
};

const Rules& rules_of(FieldKind kind) {
  static constexpr std::array<Rules, 6> rules = {
      {{"second", 0, 59, 60, false, {}, "\"0\", \"*/10\" or \"0,30\""},
       {"minute", 0, 59, 60, false, {}, "\"0\", \"*/15\" or \"5,35\""},
       {"hour", 0, 23, 24, false, {}, "\"9\", \"9-17\" or \"*/2\""},
       {"day of month", 1, 31, 31, false, {}, "\"1\", \"1,15\", \"L\" or \"15W\""},
       {"month", 1, 12, 12, true, cron_field_month_names, "\"1\", \"JAN,JUL\" or \"*/3\""},
       {"day of week", 0, 7, 7, true, cron_field_weekday_names, "\"1-5\", \"MON-FRI\", \"FRIL\" or \"FRI#2\""}}};
  return rules[static_cast<std::size_t>(kind)];
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& character : out) { character = static_cast<char>(std::toupper(static_cast<unsigned char>(character))); }
  return out;
}

bool is_digit(char character) { return character >= '0' && character <= '9'; }

// The number, if the text has only digits. A longer number counts as 9999, which no field takes.
std::optional<int> number_in(std::string_view text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) { return std::nullopt; }
  int value = 0;
  for (const char digit : text) { value = std::min(9999, value * 10 + (digit - '0')); }
  return value;
}

class FieldReader {
 public:
  FieldReader(const FieldText& field, CronFields& into) : field_(field), rules_(rules_of(field.kind)), into_(into) {}

  void read() {
    if (field_.text == "?") {
      if (!is_day()) { refuse("'?' is for the two day fields; write *"); }
      add_range(rules_.least, last_value(), 1);
      return;
    }
    const std::string text = upper(field_.text);
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      item(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const { refuse_field(field_, reason); }
  [[nodiscard]] bool is_day() const { return field_.kind == FieldKind::day || field_.kind == FieldKind::weekday; }
  // The last value of *, ? and a/n. The last weekday is 6, so that Sunday (0 and 7) does not count twice.
  [[nodiscard]] int last_value() const { return field_.kind == FieldKind::weekday ? 6 : rules_.most; }

  void item(std::string_view text) {
    if (text.empty()) { refuse("has an empty place in its list"); }
    if (text.find('?') != std::string_view::npos) { refuse("'?' stands alone, or not at all"); }
    if (field_.kind == FieldKind::day && special_day(text)) { return; }
    if (field_.kind == FieldKind::weekday && special_weekday(text)) { return; }
    const std::size_t slash = text.find('/');
    const std::string_view range = text.substr(0, slash);
    const int step = slash == std::string_view::npos ? 1 : step_in(text.substr(slash + 1));
    if (range == "*") { return add_range(rules_.least, last_value(), step); }
    const std::size_t dash = range.find('-');
    const int first = value_in(range.substr(0, dash));
    if (dash != std::string_view::npos) { return range_of(first, value_in(range.substr(dash + 1)), step); }
    if (slash == std::string_view::npos) { return add_range(first, first, 1); }
    if (field_.kind == FieldKind::weekday && first == 7) {
      const std::string count = std::to_string(step);
      refuse(base::quoted("7/" + count) + " means different days to different programs; write 0/" + count +
             " to count from Sunday to Saturday, or 7 for Sundays alone");
    }
    add_range(first, last_value(), step);
  }

  void range_of(int first, int last, int step) {
    if (first > last && !rules_.may_wrap) {
      refuse(base::quoted(std::to_string(first) + "-" + std::to_string(last)) + " runs backwards; write " +
             std::to_string(first) + "-" + std::to_string(rules_.most) + "," + std::to_string(rules_.least) + "-" +
             std::to_string(last) + " if it is to go on at the start");
    }
    add_range(first, first > last ? last + rules_.values : last, step);
  }

  int step_in(std::string_view text) {
    const auto step = number_in(text);
    if (!step) { refuse(base::quoted(text) + " is not a step"); }
    if (*step < 1 || *step > rules_.values) {
      const bool interval = *step > 1 && !is_day() && field_.kind != FieldKind::month;
      refuse(base::quoted(text) + " is not a step of 1 to " + std::to_string(rules_.values) +
             (interval ? ", and does not go on in the next " + std::string(next_unit()) +
                             "; for a fixed interval write @every, such as \"@every 90m\""
                       : ""));
    }
    return *step;
  }

  [[nodiscard]] std::string_view next_unit() const {
    if (field_.kind == FieldKind::second) { return "minute"; }
    return field_.kind == FieldKind::minute ? "hour" : "day";
  }

  int value_in(std::string_view text) {
    if (text.empty()) { refuse("a value is missing"); }
    if (const auto number = number_in(text)) {
      if (*number < rules_.least || *number > rules_.most) {
        refuse(base::quoted(text) + " is not in " + std::to_string(rules_.least) + "-" + std::to_string(rules_.most));
      }
      return *number;
    }
    const auto name = std::find(rules_.names.begin(), rules_.names.end(), text);
    if (name == rules_.names.end()) { refuse_word(text); }
    return static_cast<int>(name - rules_.names.begin()) + rules_.least;
  }

  [[noreturn]] void refuse_word(std::string_view text) const {
    if (field_.kind == FieldKind::weekday && text == "L") {
      refuse("'L' needs a day before it: FRIL is the last Friday of the month");
    }
    for (const std::string_view name : rules_.names) {
      if (text.starts_with(name)) {
        refuse(base::quoted(text) + " is not a name; did you mean " + std::string(name) + "?");
      }
    }
    const std::string what = "a number from " + std::to_string(rules_.least) + " to " + std::to_string(rules_.most);
    const bool letter = text.find_first_of("LW#") != std::string_view::npos && !is_day();
    refuse(base::quoted(text) + " is not " + what + (rules_.names.empty() ? "" : " or a name") +
           (letter ? "; L, W and # are for the day fields" : ""));
  }

  // L, L-3, LW, 15W.
  bool special_day(std::string_view text) {
    if (text == "L") {
      into_.days_before_last |= 1;
      return true;
    }
    if (text == "LW") {
      into_.last_workday = true;
      return true;
    }
    if (text.starts_with("L-")) {
      const auto before = number_in(text.substr(2));
      if (!before || *before < 1 || *before > 30) {
        refuse(base::quoted(text) + ": after L- comes a number of days from 1 to 30");
      }
      into_.days_before_last |= 1U << *before;
      return true;
    }
    if (!text.ends_with('W')) { return false; }
    const auto day = number_in(text.substr(0, text.size() - 1));
    if (!day || *day < 1 || *day > 31) { refuse(base::quoted(text) + ": before W comes one day from 1 to 31, or L"); }
    into_.nearest_workdays |= 1U << *day;
    return true;
  }

  // FRIL, 5L, FRI#2, 5#2.
  bool special_weekday(std::string_view text) {
    const std::size_t hash = text.find('#');
    const bool last = text.size() > 1 && text.ends_with('L');
    if (hash == std::string_view::npos && !last) { return false; }
    if (text.find_first_of("-/*") != std::string_view::npos) {
      refuse(base::quoted(text) + ": L and # take one day each");
    }
    if (hash != std::string_view::npos) {
      const auto number = number_in(text.substr(hash + 1));
      if (!number || *number < 1 || *number > 5) {
        refuse(base::quoted(text) + ": after # comes a number from 1 to 5");
      }
      into_.nth_weekdays[static_cast<std::size_t>(*number)] |= 1U << value_in(text.substr(0, hash)) % 7;
      return true;
    }
    into_.last_weekdays |= 1U << value_in(text.substr(0, text.size() - 1)) % 7;
    return true;
  }

  // If `last` lies beyond the field's end, the range wraps around to the field's first value.
  void add_range(int first, int last, int step) {
    for (int value = first; value <= last; value += step) {
      add(rules_.may_wrap ? rules_.least + (value - rules_.least) % rules_.values : value);
    }
  }

  void add(int value) {
    const std::uint64_t bit = std::uint64_t{1} << value;
    switch (field_.kind) {
      case FieldKind::second: into_.seconds |= bit; break;
      case FieldKind::minute: into_.minutes |= bit; break;
      case FieldKind::hour: into_.hours |= static_cast<std::uint32_t>(bit); break;
      case FieldKind::day: into_.days |= static_cast<std::uint32_t>(bit); break;
      case FieldKind::month: into_.months |= static_cast<std::uint32_t>(bit); break;
      case FieldKind::weekday: into_.weekdays |= static_cast<std::uint32_t>(bit); break;
    }
  }

  const FieldText& field_;
  const Rules& rules_;
  CronFields& into_;
};

}  // namespace

void read_field(const FieldText& field, CronFields& into) { FieldReader(field, into).read(); }

void refuse_field(const FieldText& field, const std::string& reason) {
  const Rules& rules = rules_of(field.kind);
  throw InvalidArgument(std::string(field.argument),
                        std::string(rules.name) + " (field " + std::to_string(field.number) + " of " +
                            std::to_string(field.of) + ", at character " + std::to_string(field.position) +
                            "): " + reason + "; for example " + std::string(rules.example));
}

}  // namespace hapax::schedule
