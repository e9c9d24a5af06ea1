#include "schedule/event_trigger.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/json_pointer.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/validate.hpp"
#include "schedule/event.hpp"
#include "schedule/fields.hpp"

#include <algorithm>
#include <array>

namespace hapax::schedule {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 4> event_trigger_members = {"type", "types", "source", "filter"};
constexpr std::array<std::string_view, 3> tests = {"equals", "in", "exists"};
constexpr std::string_view filter_example = R"({"/data/country": ["CH", "AT"]})";

std::string canonical(const json& value) { return base::canonical_json(value.dump()); }

std::vector<std::string> parse_types(const Fields& fields) {
  const std::string path = fields.path("types");
  const std::string expected = "a list of event types such as [\"order.*\"]";
  const json* const value = fields.find("types");
  if (value == nullptr) { throw InvalidArgument(path, "is missing; expected " + expected); }
  if (!value->is_array()) { fields.refuse("types", expected); }
  if (value->empty()) { throw InvalidArgument(path, "is empty, so no event would match; expected " + expected); }
  if (value->size() > limits::event_types) {
    throw InvalidArgument(path, std::to_string(value->size()) + " patterns were given; expected at most " +
                                    std::to_string(limits::event_types));
  }
  std::vector<std::string> types;
  for (const json& item : *value) {
    const std::string at = path + "[" + std::to_string(types.size()) + "]";
    types.push_back(text_at(at, item, "order.*"));
    model::check_name(types.back(), at);
  }
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return types;
}

std::optional<std::string> parse_source(const Fields& fields) {
  std::optional<std::string> source = fields.text("source", "/shop");
  if (source &&
      (source->empty() || source->size() > limits::event_source_bytes || base::has_control_characters(*source))) {
    fields.refuse("source", "1 to " + std::to_string(limits::event_source_bytes) +
                                " bytes without control characters, such as \"/shop\" or \"https://shop.example/*\"");
  }
  return source;
}

void check_pointer(const std::string& pointer, const std::string& path) {
  base::check_json_pointer(pointer, path);
  const std::string_view name = std::string_view(pointer).substr(0, pointer.find('/', 1));
  const std::string expected = "; expected one into the event, such as \"/data/country\" or \"/subject\"";
  if (name.size() < 2) { throw InvalidArgument(path, base::quoted(pointer) + " names no attribute" + expected); }
  const std::string_view attribute = name.substr(1);
  if (!is_attribute_name(attribute) && attribute != "data_base64") {
    throw InvalidArgument(path, base::quoted(pointer) + " begins with no attribute's name" + expected);
  }
  if (attribute != "data" && name.size() < pointer.size()) {
    throw InvalidArgument(
        path, base::quoted(pointer) + " points into " + std::string(attribute) + ", which has no parts" + expected);
  }
}

void read_values(Condition& condition, const json& list, const std::string& path) {
  if (!list.is_array() || list.empty() || list.size() > limits::filter_values) {
    refuse_value(path, list, "a list of 1 to " + std::to_string(limits::filter_values) + " values such as [\"CH\"]");
  }
  for (const json& value : list) { condition.values.push_back(canonical(value)); }
  std::sort(condition.values.begin(), condition.values.end());
  condition.values.erase(std::unique(condition.values.begin(), condition.values.end()), condition.values.end());
}

Condition parse_condition(const std::string& pointer, const json& value, const std::string& path) {
  check_pointer(pointer, path);
  Condition condition{.pointer = pointer, .test = Condition::Test::any_of, .values = {}};
  if (value.is_array()) {
    read_values(condition, value, path);
  } else if (!value.is_object()) {
    condition.values.push_back(canonical(value));
  } else {
    const Fields fields(value, path, tests, R"({"exists": true})");
    if (value.size() != 1) {
      refuse_value(path, value, R"(one of "equals", "in" and "exists", such as {"exists": true})");
    }
    if (const json* const equals = fields.find("equals")) {
      condition.values.push_back(canonical(*equals));
    } else if (const json* const in = fields.find("in")) {
      read_values(condition, *in, fields.path("in"));
    } else {
      const json& exists = *fields.find("exists");
      if (!exists.is_boolean()) { fields.refuse("exists", "true or false"); }
      condition.test = exists.get<bool>() ? Condition::Test::exists : Condition::Test::absent;
    }
  }
  return condition;
}

std::vector<Condition> parse_filter(const Fields& fields) {
  const json* const value = fields.find("filter");
  if (value == nullptr) { return {}; }
  if (!value->is_object()) { fields.refuse("filter", "an object such as " + std::string(filter_example)); }
  if (value->size() > limits::filter_conditions) {
    throw InvalidArgument(fields.path("filter"), std::to_string(value->size()) +
                                                     " conditions were given; expected at most " +
                                                     std::to_string(limits::filter_conditions));
  }
  std::vector<Condition> filter;
  for (const auto& [pointer, part] : value->items()) {
    const std::string shown = base::echo(pointer);
    filter.push_back(parse_condition(pointer, part, fields.path("filter") + "[\"" + shown + "\"]"));
  }
  std::sort(filter.begin(), filter.end());
  return filter;
}

json encode_condition(const Condition& condition) {
  if (condition.test != Condition::Test::any_of) { return {{"exists", condition.test == Condition::Test::exists}}; }
  json values = json::array();
  for (const std::string& value : condition.values) { values.push_back(json::parse(value)); }
  if (values.size() > 1) { return values; }
  const json only = values[0];
  return only.is_structured() ? json{{"equals", only}} : only;
}

}  // namespace

EventTrigger parse_event_trigger(const json& trigger, const std::string& path) {
  const Fields fields(trigger, path, event_trigger_members, R"({"type": "event", "types": ["order.*"]})");
  return {.types = parse_types(fields), .source = parse_source(fields), .filter = parse_filter(fields)};
}

json encode_event_trigger(const EventTrigger& trigger) {
  json out = {{"type", "event"}, {"types", trigger.types}};
  if (trigger.source) { out["source"] = *trigger.source; }
  if (!trigger.filter.empty()) {
    json& filter = out["filter"] = json::object();
    for (const Condition& condition : trigger.filter) { filter[condition.pointer] = encode_condition(condition); }
  }
  return out;
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::size_t in_pattern = 0;
  std::size_t in_text = 0;
  std::size_t star = std::string_view::npos;  // the last * met, which matches as little text as possible
  std::size_t star_text = 0;
  while (in_text < text.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      star_text = in_text;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == text[in_text]) {
      ++in_pattern;
      ++in_text;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      in_text = ++star_text;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

}  // namespace hapax::schedule
