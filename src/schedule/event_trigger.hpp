// EventTrigger: which events start an activity (SPEC S1, S8).
//
//   types   patterns, of which one has to match the event's type. * stands for any text, dots included, also none:
//           "order.*" matches order.created and order.item.added; everything else is taken as it is, in its case.
//   source  a pattern of the same kind: "/shop", "https://shop.example/*". None: any source.
//   filter  by JSON Pointer into the envelope, such as /data/country, /subject or the name of an extension, what has to
//           be there; all of it has to hold:
//             "CH", 7, true, null      that value
//             ["CH", "AT"]             one of these
//             {"equals": [1, 2]}       that value, whatever it is
//             {"in": [[1], [2]]}       one of these
//             {"exists": true}         any value, also null; false: nothing may be there
//           Values are compared as JSON: 1 and 1.0 are the same, "1" is another.
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
  std::vector<std::string> values;  // of any_of: canonical JSON, in order
  friend auto operator<=>(const Condition&, const Condition&) = default;
};

struct EventTrigger {
  std::vector<std::string> types;
  std::optional<std::string> source;
  std::vector<Condition> filter;  // by pointer
};

// Each throws InvalidArgument naming a path that begins with `path`.
[[nodiscard]] EventTrigger parse_event_trigger(const nlohmann::json& trigger, const std::string& path);
// The members that parse_event_trigger reads, and "type".
[[nodiscard]] nlohmann::json encode_event_trigger(const EventTrigger& trigger);

[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace hapax::schedule
