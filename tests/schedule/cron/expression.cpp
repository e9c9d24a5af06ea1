#include "schedule/cron/expression.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace hapax::cron_oracle {

namespace {

using absl::CivilDay;
using absl::CivilMonth;

constexpr std::array<const char*, 12> month_names = {"jan", "feb", "mar", "apr", "may", "jun",
                                                     "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<const char*, 7> weekday_names = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct Range {
  int least;
  int most;
};
constexpr Range sixty{0, 59};
constexpr Range hours{0, 23};
constexpr Range month_days{1, 31};
constexpr Range months{1, 12};
constexpr Range week{0, 6};

int weekday_of(CivilDay date) { return (static_cast<int>(absl::GetWeekday(date)) + 1) % 7; }
bool is_workday(CivilDay date) { return weekday_of(date) != 0 && weekday_of(date) != 6; }
bool same_month(CivilDay a, CivilDay b) { return CivilMonth(a) == CivilMonth(b); }

CivilDay nearest_workday(CivilDay target) {
  CivilDay best = target + 31;
  for (CivilDay day{CivilMonth(target)}; same_month(day, target); ++day) {
    if (is_workday(day) && std::llabs(day - target) < std::llabs(best - target)) { best = day; }
  }
  return best;
}

bool is_last_workday(CivilDay date) {
  if (!is_workday(date)) { return false; }
  for (CivilDay later = date + 1; same_month(later, date); ++later) {
    if (is_workday(later)) { return false; }
  }
  return true;
}

bool item_means(const Item& item, CivilDay date, int value) {
  switch (item.kind) {
    case Item::Kind::values: return item.values[static_cast<std::size_t>(value)];
    case Item::Kind::last_day: return same_month(date, date + item.number) && !same_month(date, date + item.number + 1);
    case Item::Kind::nearest_workday: {
      const CivilDay target(date.year(), date.month(), item.day);
      return same_month(target, date) && nearest_workday(target) == date;
    }
    case Item::Kind::last_workday: return is_last_workday(date);
    case Item::Kind::last_weekday: return weekday_of(date) == item.day && !same_month(date, date + 7);
    case Item::Kind::nth_weekday: return weekday_of(date) == item.day && (date.day() + 6) / 7 == item.number;
  }
  return false;
}

bool field_means(const Field& field, CivilDay date, int value) {
  return std::any_of(field.items.begin(), field.items.end(),
                     [&](const Item& item) { return item_means(item, date, value); });
}

// ---- Making them -------------------------------------------------------------------------------------------------

bool one_in(base::Random& random, int count) { return pick(random, count) == 0; }

std::string any_case(std::string text, base::Random& random) {
  const int how = pick(random, 3);
  for (char& character : text) {
    if (how == 0 || (how == 1 && one_in(random, 2))) {
      character = static_cast<char>(std::toupper(static_cast<unsigned char>(character)));
    }
  }
  return text;
}

class Maker {
 public:
  explicit Maker(base::Random& random) : random_(random) {}

  // An item of one value, a range or steps; months and weekdays may wrap around and be spelt by name.
  Item item(Range range) {
    const int count = range.most - range.least + 1;
    const int first = range.least + pick(random_, count);
    switch (pick(random_, 8)) {
      case 0: return from_on(range, first);
      case 1:
      case 2: return stretch(range, first, pick(random_, 2) == 0 ? 1 + pick(random_, 4) : 1);
      case 3: return all(range, 1 + pick(random_, count));
      default: {
        Item out;
        out.text = spelt(range, range.most == week.most && first == 0 && one_in(random_, 2) ? 7 : first);
        out.values[static_cast<std::size_t>(first)] = true;
        return out;
      }
    }
  }

  Item all(Range range, int step) {
    Item out;
    out.text = step == 1 && !one_in(random_, 10) ? "*" : "*/" + std::to_string(step);
    for (int value = range.least; value <= range.most; value += step) {
      out.values[static_cast<std::size_t>(value)] = true;
    }
    return out;
  }

  Field open_field(Range range) {
    Field field{.items = {all(range, 1)}, .open = true};
    const bool day_field = range.most == month_days.most || range.most == week.most;
    if (day_field && one_in(random_, 4)) { field.items[0].text = "?"; }
    return field;
  }

  Field field(Range range, int most_items) {
    Field out;
    const int count = 1 + pick(random_, most_items);
    for (int index = 0; index < count; ++index) { out.items.push_back(item(range)); }
    out.open = out.items.front().text.front() == '*';
    return out;
  }

  // Prefers hours and minutes at which clocks are shifted.
  Field early_hours() {
    Field out;
    const int first = pick(random_, 4);
    Item only;
    only.text = std::to_string(first);
    only.values[static_cast<std::size_t>(first)] = true;
    out.items.push_back(only);
    return out;
  }

  void add_special_day(Field& field) {
    Item out;
    switch (pick(random_, 4)) {
      case 0:
        out.kind = Item::Kind::last_day;
        out.text = any_case("l", random_);
        break;
      case 1:
        out.kind = Item::Kind::last_day;
        out.number = 1 + pick(random_, 30);
        out.text = any_case("l-", random_) + std::to_string(out.number);
        break;
      case 2:
        out.kind = Item::Kind::nearest_workday;
        out.day = 1 + pick(random_, 31);
        out.text = std::to_string(out.day) + any_case("w", random_);
        break;
      default: out.kind = Item::Kind::last_workday; out.text = any_case("lw", random_);
    }
    insert(field, std::move(out));
  }

  void add_special_weekday(Field& field) {
    Item out;
    out.day = pick(random_, 7);
    const std::string name = spelt(week, out.day == 0 && one_in(random_, 2) ? 7 : out.day);
    if (one_in(random_, 2)) {
      out.kind = Item::Kind::last_weekday;
      out.text = name + any_case("l", random_);
    } else {
      out.kind = Item::Kind::nth_weekday;
      out.number = 1 + pick(random_, 5);
      out.text = name + "#" + std::to_string(out.number);
    }
    insert(field, std::move(out));
  }

 private:
  // Replaces the field's items by a special one, or adds it.
  void insert(Field& field, Item special) {
    if (one_in(random_, 2) || field.items.front().text == "?") {
      field = Field{};
      field.items.push_back(std::move(special));
    } else {
      field.items.push_back(std::move(special));
    }
  }

  std::string spelt(Range range, int value) {
    if (range.most == months.most && one_in(random_, 2)) {
      return any_case(month_names[static_cast<std::size_t>(value - 1)], random_);
    }
    if (range.most == week.most && one_in(random_, 2)) {
      return any_case(weekday_names[static_cast<std::size_t>(value % 7)], random_);
    }
    return (value < 10 && one_in(random_, 8) ? "0" : "") + std::to_string(value);
  }

  Item from_on(Range range, int first) {
    Item out;
    const int step = 1 + pick(random_, range.most - range.least + 1);
    out.text = spelt(range, first) + "/" + std::to_string(step);
    for (int value = first; value <= range.most; value += step) { out.values[static_cast<std::size_t>(value)] = true; }
    return out;
  }

  Item stretch(Range range, int first, int step) {
    Item out;
    const int count = range.most - range.least + 1;
    const bool may_wrap = range.most == months.most || range.most == week.most;
    const int length = 1 + pick(random_, may_wrap ? count : range.most - first + 1);
    for (int index = 0; index < length; index += step) {
      out.values[static_cast<std::size_t>(range.least + (first - range.least + index) % count)] = true;
    }
    const int last = range.least + (first - range.least + length - 1) % count;
    // The last Sunday of a range may be written as 7, unless the range begins on it.
    const bool as_seven = range.most == week.most && last == 0 && length > 1 && one_in(random_, 2);
    out.text = spelt(range, first) + "-" + (as_seven ? "7" : spelt(range, last));
    if (step > 1 || one_in(random_, 8)) { out.text += "/" + std::to_string(step); }
    return out;
  }

  base::Random& random_;
};

}  // namespace

int pick(base::Random& random, int count) {
  return static_cast<int>(random.next() % static_cast<std::uint64_t>(count));
}

std::string Field::text() const {
  std::string out;
  for (const Item& item : items) { out += (out.empty() ? "" : ",") + item.text; }
  return out;
}

bool Field::has_value(int value) const {
  return std::any_of(items.begin(), items.end(),
                     [&](const Item& item) { return item.values[static_cast<std::size_t>(value)]; });
}

std::string Expression::text() const {
  if (every_s > 0) { return "@every " + std::to_string(every_s) + "s"; }
  return (with_seconds ? second.text() + " " : "") + minute.text() + " " + hour.text() + " " + day.text() + " " +
         month.text() + " " + weekday.text();
}

bool Expression::means_day(CivilDay date) const {
  if (!month.has_value(date.month())) { return false; }
  const bool by_day = field_means(day, date, date.day());
  const bool by_weekday = field_means(weekday, date, weekday_of(date));
  return day.open || weekday.open ? by_day && by_weekday : by_day || by_weekday;
}

Expression random_expression(base::Random& random) {
  Maker maker(random);
  Expression out;
  if (one_in(random, 30)) {
    out.every_s = 1 + pick(random, one_in(random, 2) ? 600 : 100'000);
    return out;
  }
  out.with_seconds = one_in(random, 6);
  out.second = maker.field(sixty, 2);
  out.minute = one_in(random, 5) ? maker.open_field(sixty) : maker.field(sixty, 3);
  const int hour_shape = pick(random, 4);
  out.hour = hour_shape == 0 ? maker.open_field(hours) : hour_shape == 1 ? maker.early_hours() : maker.field(hours, 3);
  out.day = one_in(random, 2) ? maker.open_field(month_days) : maker.field(month_days, 3);
  if (one_in(random, 5)) { maker.add_special_day(out.day); }
  out.month = one_in(random, 4) ? maker.field(months, 3) : maker.open_field(months);
  out.weekday = one_in(random, 2) ? maker.open_field(week) : maker.field(week, 3);
  if (one_in(random, 5)) { maker.add_special_weekday(out.weekday); }
  return out;
}

}  // namespace hapax::cron_oracle
