// The members of a JSON object as slices of its text, so that a payload inside keeps its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::wire {

// One member. The readers throw InvalidArgument naming it when the value is of another type.
struct JsonMember {
  std::string name;
  std::string_view json;

  [[nodiscard]] bool is_null() const { return json == "null"; }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::vector<std::string> texts() const;
};

// `object` must have passed base::check_json. Throws InvalidArgument, naming `field`, when it is not an object. The slices
// point into it.
[[nodiscard]] std::vector<JsonMember> json_members(std::string_view object, std::string_view field = "line");

}  // namespace hapax::wire
