// JsonView: the members of a JSON object that came as an answer, read by name.
//
// For documents of this build or of a later one: what is absent or null reads as empty, and unknown members are passed by.
// Points into the text, which must be one JSON value. Throws BadAnswer where a member is of another type than it has to be.
#pragma once

#include <hapax/error.hpp>
#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include "wire/json_members.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::wire {

// An answer that is not what this build expects: something else is there, or a release that does not fit.
class BadAnswer : public Error {
 public:
  explicit BadAnswer(const std::string& message) : Error("BadAnswer", message) {}
};

class JsonView {
 public:
  explicit JsonView(std::string_view object);

  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }  // and it is not null
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t usual = 0) const;
  [[nodiscard]] int small(std::string_view name, int usual = 0) const;
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::optional<Time> time(std::string_view name) const;
  [[nodiscard]] std::optional<Duration> duration(std::string_view name) const;
  [[nodiscard]] std::optional<Uuid> uuid(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
  // The bytes of any value; "null" when it is not there.
  [[nodiscard]] std::string_view raw(std::string_view name) const;
  // The items of an array; none when it is not there.
  [[nodiscard]] std::vector<std::string_view> items(std::string_view name) const;

 private:
  [[nodiscard]] const JsonMember* find(std::string_view name) const;

  std::vector<JsonMember> members_;
};

// The items of a JSON array as slices of its text.
[[nodiscard]] std::vector<std::string_view> array_items(std::string_view array);

// Throws BadAnswer unless `text` is one JSON value. However deep: payloads stand inside of what is told about them.
void check_answer(std::string_view text, const std::string& from);

}  // namespace hapax::wire
