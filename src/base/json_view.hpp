// JsonView: the members of a JSON object in a server's answer, read by name.
//
// Reads documents of this build and of later ones: an absent or null member reads as empty, and unknown members are
// ignored. A JsonView points into the text, which must be one JSON value and outlive the view. Throws BadAnswer for a
// member of the wrong type.
#pragma once

#include <hapax/error.hpp>
#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include "base/json_text.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::base {

// The answer is not what this build expects: the URL is not a hapax server's, or the server's release does not fit.
class BadAnswer : public Error {
 public:
  explicit BadAnswer(const std::string& message) : Error("BadAnswer", message) {}
};

class JsonView {
 public:
  explicit JsonView(std::string_view object);

  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }  // present and not null
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t fallback = 0) const;
  [[nodiscard]] int small(std::string_view name, int fallback = 0) const;
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::optional<Time> time(std::string_view name) const;
  [[nodiscard]] std::optional<Duration> duration(std::string_view name) const;
  [[nodiscard]] std::optional<Uuid> uuid(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
  // The bytes of any value; "null" if the member is absent.
  [[nodiscard]] std::string_view raw(std::string_view name) const;
  // The items of an array; empty if the member is absent.
  [[nodiscard]] std::vector<std::string_view> items(std::string_view name) const;

 private:
  [[nodiscard]] const JsonMember* find(std::string_view name) const;

  std::vector<JsonMember> members_;
};

// The items of a JSON array as slices of its text.
[[nodiscard]] std::vector<std::string_view> array_items(std::string_view array);

// Throws BadAnswer unless `text` is one JSON value. The depth is not limited, because documents contain payloads, which
// may themselves be nested to the limit.
void check_answer(std::string_view text, const std::string& from);

}  // namespace hapax::base
