// EventTrigger: which events start an activity.
//
//   types   patterns, one of which must match the event's type. * stands for any text, with or without dots, or none:
//           "order.*" matches order.created and order.item.added. Other characters stand for themselves; case counts.
//   source  a pattern of the same kind: "/shop", "https://shop.example/*". None: any source.
//   filter  conditions by JSON Pointer into the envelope, such as /data/country, /subject or an extension's name. All
//           conditions must hold:
//             "CH", 7, true, null      this value
//             ["CH", "AT"]             one of these values
//             {"equals": [1, 2]}       this value, of any type
//             {"in": [[1], [2]]}       one of these values
//             {"exists": true}         any value, also null; false: no value
//           Values are compared as JSON: 1 equals 1.0, but not "1".
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::schedule {

struct Condition {
  enum class Test : std::uint8_t { any_of, exists, absent };
  std::string pointer;
  Test test = Test::exists;
  std::vector<std::string> values;  // of any_of: canonical JSON, sorted
  friend auto operator<=>(const Condition&, const Condition&) = default;
};

struct EventTrigger {
  std::vector<std::string> types;
  std::optional<std::string> source;
  std::vector<Condition> filter;  // sorted by pointer
};

// Each throws InvalidArgument naming a path that begins with `path`.
[[nodiscard]] EventTrigger parse_event_trigger(const nlohmann::json& trigger, const std::string& path);
// The members that parse_event_trigger reads, and "type".
[[nodiscard]] nlohmann::json encode_event_trigger(const EventTrigger& trigger);

[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace hapax::schedule
