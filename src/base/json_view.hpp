// JsonView: the members of a JSON object, read by name, for requests and for answers. An absent member and a null read
// alike. Points into the text.
#pragma once

#include <hapax/error.hpp>
#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include "base/json_text.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
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
  // A document of a server, of this build or a later one: unknown members are ignored. `object` must be one JSON value.
  // Throws BadAnswer here, and where a member has the wrong type.
  explicit JsonView(std::string_view object);
  // A request's object, whose unknown members are errors with a suggestion. An empty text reads as {}. Throws InvalidJson
  // with the byte offset here, and InvalidArgument that names the member here and where it has the wrong type.
  // `outer_levels`: as in check_json.
  JsonView(std::string_view text, std::initializer_list<std::string_view> known, std::string_view field = "body",
           std::size_t outer_levels = 0);

  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }  // present and not null
  [[nodiscard]] std::string text(std::string_view name) const;  // empty if the member is absent
  [[nodiscard]] std::optional<std::string> find_text(std::string_view name) const;
  // Throws InvalidArgument if the member is absent.
  [[nodiscard]] std::string require_text(std::string_view name, std::string_view example) const;
  [[nodiscard]] std::optional<std::int64_t> find_integer(std::string_view name) const;
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
  // read(member), or none if the member is absent.
  template <class Read>
  [[nodiscard]] auto read(std::string_view name, Read read) const;

  std::vector<JsonMember> members_;
  bool is_request_ = false;
};

// Throws InvalidArgument "unknown WHAT", with a suggestion, unless `name` is known.
void check_known(const std::string& name, const char* what, std::initializer_list<std::string_view> known);

// The items of a JSON array as slices of its text.
[[nodiscard]] std::vector<std::string_view> array_items(std::string_view array);

// Throws BadAnswer unless `text` is one JSON value. No limit on depth: payloads are nested in documents about them.
void check_answer(std::string_view text, const std::string& from);

}  // namespace hapax::base
