#include "base/json_view.hpp"

#include "base/json_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace hapax::base {
namespace {

// Runs `read`; its InvalidArgument about a value becomes BadAnswer.
template <class Read>
auto answered(std::string_view name, Read read) {
  try {
    return read();
  } catch (const InvalidArgument& error) {
    throw BadAnswer("the answer's member '" + std::string(name) + "' cannot be read: " + error.what());
  }
}

}  // namespace

JsonView::JsonView(std::string_view object)
    : members_(answered("document", [&] { return checked_members(object, "document"); })) {}

const JsonMember* JsonView::find(std::string_view name) const {
  const auto found =
      std::find_if(members_.begin(), members_.end(), [&](const JsonMember& member) { return member.name == name; });
  return found == members_.end() || found->is_null() ? nullptr : &*found;
}

std::string JsonView::text(std::string_view name) const {
  const JsonMember* const member = find(name);
  return member == nullptr ? "" : answered(name, [&] { return member->text(); });
}

std::int64_t JsonView::integer(std::string_view name, std::int64_t usual) const {
  const JsonMember* const member = find(name);
  return member == nullptr ? usual : answered(name, [&] { return member->integer(); });
}

int JsonView::small(std::string_view name, int usual) const {
  const std::int64_t value = integer(name, usual);
  if (value < INT32_MIN || value > INT32_MAX) {
    throw BadAnswer("the answer's member '" + std::string(name) + "' is out of range");
  }
  return static_cast<int>(value);
}

std::optional<double> JsonView::number(std::string_view name) const {
  const JsonMember* const member = find(name);
  if (member == nullptr) { return std::nullopt; }
  const auto value = nlohmann::json::parse(member->value);
  if (!value.is_number()) { throw BadAnswer("the answer's member '" + std::string(name) + "' is no number"); }
  return value.get<double>();
}

bool JsonView::flag(std::string_view name) const {
  const JsonMember* const member = find(name);
  return member != nullptr && answered(name, [&] { return member->boolean(); });
}

std::optional<Time> JsonView::time(std::string_view name) const {
  const std::string told = text(name);
  if (told.empty()) { return std::nullopt; }
  return answered(name, [&] { return parse_time(told, name); });
}

std::optional<Duration> JsonView::duration(std::string_view name) const {
  const std::string told = text(name);
  if (told.empty()) { return std::nullopt; }
  return answered(name, [&] { return parse_duration(told, name); });
}

std::optional<Uuid> JsonView::uuid(std::string_view name) const {
  const std::string told = text(name);
  if (told.empty()) { return std::nullopt; }
  if (const std::optional<Uuid> id = Uuid::parse(told)) { return id; }
  throw BadAnswer("the answer's member '" + std::string(name) + "' is no id");
}

std::vector<std::string> JsonView::texts(std::string_view name) const {
  const JsonMember* const member = find(name);
  return member == nullptr ? std::vector<std::string>{} : answered(name, [&] { return member->texts(); });
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
    throw BadAnswer("the answer has something else where a list has to be");
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
  if (!nlohmann::json::accept(text)) {
    throw BadAnswer(from + " answered with something that is no JSON; is it a hapax server?");
  }
}

}  // namespace hapax::base
