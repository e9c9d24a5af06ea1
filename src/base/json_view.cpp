#include "base/json_view.hpp"

#include "base/json.hpp"
#include "base/text.hpp"

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

void check_known(const std::string& name, const char* what, std::initializer_list<std::string_view> known) {
  if (std::ranges::find(known, name) != known.end()) { return; }
  throw InvalidArgument(echo(name), std::string("unknown ") + what + did_you_mean(name, known));
}

JsonView::JsonView(std::string_view object)
    : members_(read_or_bad_answer("document", [&] { return checked_members(object, "document"); })) {}

JsonView::JsonView(std::string_view text, std::initializer_list<std::string_view> known, std::string_view field,
                   std::size_t outer_levels)
    : is_request_(true) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) { return; }
  check_json(text, field, outer_levels);
  members_ = checked_members(text, field);
  for (const JsonMember& member : members_) { check_known(member.name, "member", known); }
}

const JsonMember* JsonView::find(std::string_view name) const {
  const auto found = std::ranges::find(members_, name, &JsonMember::name);
  return found == members_.end() || found->is_null() ? nullptr : &*found;
}

template <class Read>
auto JsonView::read(std::string_view name, Read read) const {
  const JsonMember* const member = find(name);
  if (member == nullptr) { return decltype(std::optional(read(*member)))(); }
  return std::optional(is_request_ ? read(*member) : read_or_bad_answer(name, [&] { return read(*member); }));
}

std::optional<std::string> JsonView::find_text(std::string_view name) const {
  return read(name, [](const JsonMember& member) { return member.text(); });
}

std::string JsonView::text(std::string_view name) const { return find_text(name).value_or(""); }

std::string JsonView::require_text(std::string_view name, std::string_view example) const {
  if (std::optional<std::string> given = find_text(name)) { return *std::move(given); }
  throw InvalidArgument(std::string(name), "is missing; expected a string such as \"" + std::string(example) + "\"");
}

std::optional<std::int64_t> JsonView::find_integer(std::string_view name) const {
  return read(name, [](const JsonMember& member) { return member.integer(); });
}

std::int64_t JsonView::integer(std::string_view name, std::int64_t fallback) const {
  return find_integer(name).value_or(fallback);
}

int JsonView::small(std::string_view name, int fallback) const {
  const std::int64_t value = integer(name, fallback);
  if (value < INT32_MIN || value > INT32_MAX) {
    throw BadAnswer("the answer's member '" + std::string(name) + "' is out of range");
  }
  return static_cast<int>(value);
}

std::optional<double> JsonView::number(std::string_view name) const {
  return read(name, [](const JsonMember& member) {
    const auto value = nlohmann::json::parse(member.value);
    if (!value.is_number()) { throw InvalidArgument(member.name, "expected a number; came " + echo(member.value)); }
    return value.get<double>();
  });
}

bool JsonView::flag(std::string_view name) const {
  return read(name, [](const JsonMember& member) { return member.boolean(); }).value_or(false);
}

std::optional<Time> JsonView::time(std::string_view name) const {
  return read(name, [](const JsonMember& member) { return parse_time(member.text(), member.name); });
}

std::optional<Duration> JsonView::duration(std::string_view name) const {
  return read(name, [](const JsonMember& member) { return parse_duration(member.text(), member.name); });
}

std::optional<Uuid> JsonView::uuid(std::string_view name) const {
  return read(name, [](const JsonMember& member) {
    if (const std::optional<Uuid> id = Uuid::parse(member.text())) { return *id; }
    throw InvalidArgument(member.name, "expected an id; came " + echo(member.value));
  });
}

std::vector<std::string> JsonView::texts(std::string_view name) const {
  return read(name, [](const JsonMember& member) { return member.texts(); }).value_or(std::vector<std::string>());
}

std::string_view JsonView::raw(std::string_view name) const {
  const JsonMember* const member = find(name);
  return member == nullptr ? std::string_view("null") : member->value;
}

std::vector<std::string_view> JsonView::items(std::string_view name) const {
  const JsonMember* const member = find(name);
  if (member == nullptr) { return {}; }
  if (is_request_ && !member->value.starts_with('[')) {
    throw InvalidArgument(member->name, "expected an array; came " + echo(member->value));
  }
  return array_items(member->value);
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
