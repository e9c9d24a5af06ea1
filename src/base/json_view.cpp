#include "base/json_view.hpp"

#include "base/json_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace hapax::base {
namespace {

// Returns what `read` returns. If `read` throws InvalidArgument, throws BadAnswer about the member.
template <class Read>
auto read_or_bad_answer(std::string_view name, Read read) {
  try {
    return read();
  } catch (const InvalidArgument& error) {
    throw BadAnswer("the answer's member '" + std::string(name) + "' cannot be read: " + error.what());
  }
}

}  // namespace

JsonView::JsonView(std::string_view object)
    : members_(read_or_bad_answer("document", [&] { return checked_members(object, "document"); })) {}

const JsonMember* JsonView::find(std::string_view name) const {
  const auto found =
      std::find_if(members_.begin(), members_.end(), [&](const JsonMember& member) { return member.name == name; });
  return found == members_.end() || found->is_null() ? nullptr : &*found;
}

std::string JsonView::text(std::string_view name) const {
  const JsonMember* const member = find(name);
  return member == nullptr ? "" : read_or_bad_answer(name, [&] { return member->text(); });
}

std::int64_t JsonView::integer(std::string_view name, std::int64_t fallback) const {
  const JsonMember* const member = find(name);
  return member == nullptr ? fallback : read_or_bad_answer(name, [&] { return member->integer(); });
}

int JsonView::small(std::string_view name, int fallback) const {
  const std::int64_t value = integer(name, fallback);
  if (value < INT32_MIN || value > INT32_MAX) {
    throw BadAnswer("the answer's member '" + std::string(name) + "' is out of range");
  }
  return static_cast<int>(value);
}

std::optional<double> JsonView::number(std::string_view name) const {
  const JsonMember* const member = find(name);
  if (member == nullptr) { return std::nullopt; }
  const auto value = nlohmann::json::parse(member->value);
  if (!value.is_number()) { throw BadAnswer("the answer's member '" + std::string(name) + "' is not a number"); }
  return value.get<double>();
}

bool JsonView::flag(std::string_view name) const {
  const JsonMember* const member = find(name);
  return member != nullptr && read_or_bad_answer(name, [&] { return member->boolean(); });
}

std::optional<Time> JsonView::time(std::string_view name) const {
  const std::string value = text(name);
  if (value.empty()) { return std::nullopt; }
  return read_or_bad_answer(name, [&] { return parse_time(value, name); });
}

std::optional<Duration> JsonView::duration(std::string_view name) const {
  const std::string value = text(name);
  if (value.empty()) { return std::nullopt; }
  return read_or_bad_answer(name, [&] { return parse_duration(value, name); });
}

std::optional<Uuid> JsonView::uuid(std::string_view name) const {
  const std::string value = text(name);
  if (value.empty()) { return std::nullopt; }
  if (const std::optional<Uuid> id = Uuid::parse(value)) { return id; }
  throw BadAnswer("the answer's member '" + std::string(name) + "' is not an ID");
}

std::vector<std::string> JsonView::texts(std::string_view name) const {
  const JsonMember* const member = find(name);
  return member == nullptr ? std::vector<std::string>{} : read_or_bad_answer(name, [&] { return member->texts(); });
}

std::string_view JsonView::raw(std::string_view name) const {
  const JsonMember* const member = find(name);
  return member == nullptr ? std::string_view("null") : member->value;
}

std::vector<std::string_view> JsonView::items(std::string_view name) const {
  const JsonMember* const member = find(name);
  return member == nullptr ? std::vector<std::string_view>{} : array_items(member->value);
}

std::vector<std::string_view> array_items(std::string_view array) {
  base::JsonCursor cursor(array);
  if (cursor.done() || cursor.peek() != '[') {
    throw BadAnswer("the answer has another value where a list is expected");
  }
  cursor.step();
  std::vector<std::string_view> items;
  while (cursor.peek() != ']') {
    items.push_back(cursor.value());
    if (cursor.peek() == ',') { cursor.step(); }
  }
  return items;
}

void check_answer(std::string_view text, const std::string& from) {
  if (!nlohmann::json::accept(text)) { throw BadAnswer(from + " did not answer with JSON; is it a hapax server?"); }
}

}  // namespace hapax::base
