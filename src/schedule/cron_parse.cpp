#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"
#include "schedule/cron.hpp"
#include "schedule/cron_calendar.hpp"
#include "schedule/cron_field.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace hapax::schedule {

namespace {

struct Macro {
  std::string_view name;
  std::string_view fields;
};

constexpr std::array<Macro, 7> macros = {{{"@yearly", "0 0 1 1 *"},
                                          {"@annually", "0 0 1 1 *"},
                                          {"@monthly", "0 0 1 * *"},
                                          {"@weekly", "0 0 * * 0"},
                                          {"@daily", "0 0 * * *"},
                                          {"@midnight", "0 0 * * *"},
                                          {"@hourly", "0 * * * *"}}};
constexpr std::string_view every = "@every";
constexpr std::string_view white = " \t";

[[noreturn]] void refuse(std::string_view argument, const std::string& reason) {
  throw InvalidArgument(std::string(argument), reason);
}

struct Word {
  std::string_view text;
  std::size_t position;  // from 1
};

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  std::size_t at = text.find_first_not_of(white);
  while (at != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(white, at), text.size());
    words.push_back({.text = text.substr(at, end - at), .position = at + 1});
    at = text.find_first_not_of(white, end);
  }
  return words;
}

[[noreturn]] void refuse_count(std::string_view text, std::size_t count, std::string_view argument) {
  std::string reason = base::quoted(text) + " has " + std::to_string(count) + (count == 1 ? " field" : " fields");
  if (count == 7) { reason += " (there is none for the year)"; }
  refuse(argument, reason +
                       "; expected 5 (minute, hour, day of month, month, day of week), or 6 with the second first; for "
                       "example \"0 9 * * MON-FRI\"");
}

CronFields read_fields(std::string_view text, std::string_view argument) {
  const std::vector<Word> words = words_of(text);
  if (!words.empty() && (words.front().text.starts_with("CRON_TZ=") || words.front().text.starts_with("TZ="))) {
    refuse(argument,
           base::quoted(words.front().text) + " is not part of an expression; the zone is given as time_zone");
  }
  if (words.size() != 5 && words.size() != 6) { refuse_count(text, words.size(), argument); }
  CronFields fields;
  if (words.size() == 5) { fields.seconds = 1; }
  const std::size_t missing = 6 - words.size();
  FieldText field{.of = words.size(), .argument = argument};
  for (std::size_t index = 0; index < words.size(); ++index) {
    field.kind = static_cast<FieldKind>(index + missing);
    field.text = words[index].text;
    field.number = index + 1;
    field.position = words[index].position;
    read_field(field, fields);
  }
  const auto open = [&](std::size_t from_end) {
    const std::string_view day_field = words[words.size() - from_end].text;
    return day_field.front() == '*' || day_field == "?";
  };
  fields.either_day = !open(1) && !open(3);
  if (!ever_fires(fields)) {
    field.kind = FieldKind::day;
    field.number = words.size() - 2;
    field.position = words[words.size() - 3].position;
    refuse_field(field, base::quoted(text) + " never fires: no year has such a day");
  }
  return fields;
}

std::chrono::seconds read_period(std::string_view text, std::string_view argument) {
  Duration period{0};
  try {
    period = parse_duration(text, every);
  } catch (const InvalidArgument& error) { refuse(argument, error.what()); }
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(period);
  if (period < std::chrono::seconds(1) || period > limits::delay_max || whole != period) {
    refuse(argument, std::string(every) + ": " + base::quoted(text) + " is not whole seconds from 1s to " +
                         format_duration(limits::delay_max) + "; for example \"@every 90s\"");
  }
  return whole;
}

[[noreturn]] void refuse_macro(std::string_view name, std::string_view argument) {
  std::vector<std::string> names = {std::string(every)};
  for (const Macro& macro : macros) { names.emplace_back(macro.name); }
  const std::string near = base::closest(base::lower(name), names);
  refuse(argument, base::quoted(name) + " is not known" + (near.empty() ? "" : "; did you mean " + near + "?") +
                       "; expected @yearly, @monthly, @weekly, @daily, @hourly or, for example, \"@every 90s\"");
}

void read_macro(Cron& cron, std::string_view argument) {
  const std::size_t end = std::min(cron.text.find_first_of(white), cron.text.size());
  const std::string name = base::lower(std::string_view(cron.text).substr(0, end));
  const std::size_t after = std::min(cron.text.find_first_not_of(white, end), cron.text.size());
  const std::string_view rest = std::string_view(cron.text).substr(after);
  if (name == every) {
    cron.every = read_period(rest, argument);
    return;
  }
  const auto macro = std::find_if(macros.begin(), macros.end(), [&](const Macro& each) { return each.name == name; });
  if (macro == macros.end()) { refuse_macro(std::string_view(cron.text).substr(0, end), argument); }
  if (!rest.empty()) { refuse(argument, base::quoted(rest) + " after " + name + "; for example \"" + name + "\""); }
  cron.fields = read_fields(macro->fields, argument);
}

}  // namespace

Cron parse_cron(std::string_view text, std::string_view field) {
  if (text.size() > limits::cron_bytes) {
    refuse(field, std::to_string(text.size()) + " bytes, the limit is " + std::to_string(limits::cron_bytes) +
                      " bytes; for example \"0 9 * * MON-FRI\"");
  }
  const std::size_t begin = text.find_first_not_of(white);
  if (begin == std::string_view::npos) { refuse(field, "is empty; for example \"0 9 * * MON-FRI\" or \"@every 90s\""); }
  const std::size_t end = text.find_last_not_of(white) + 1;
  Cron cron{.text = std::string(text.substr(begin, end - begin))};
  if (cron.text.front() == '@') {
    read_macro(cron, field);
  } else {
    cron.fields = read_fields(cron.text, field);
  }
  return cron;
}

}  // namespace hapax::schedule
