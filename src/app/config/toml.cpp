#include "app/config/toml.hpp"

#include "base/text.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

namespace hapax::config {
namespace {

Node node_of(const toml::node& value);

void place(Node& node, const toml::source_region& region) {
  node.line = static_cast<int>(region.begin.line);
  node.column = static_cast<int>(region.begin.column);
}

std::vector<Node> members_of(const toml::table& table) {
  std::vector<Node> members;
  for (const auto& [key, value] : table) {
    Node member = node_of(value);
    member.name = std::string(key.str());
    place(member, key.source());
    members.push_back(std::move(member));
  }
  // The parser sorts members by name; problems are reported from top to bottom.
  std::stable_sort(members.begin(), members.end(), [](const Node& a, const Node& b) {
    return a.line != b.line ? a.line < b.line : a.column < b.column;
  });
  return members;
}

template <class Value>
std::string spelling(const Value& value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

Node node_of(const toml::node& value) {
  Node node;
  place(node, value.source());
  if (const toml::table* table = value.as_table()) {
    node.kind = Node::Kind::table;
    node.children = members_of(*table);
  } else if (const toml::array* array = value.as_array()) {
    node.kind = Node::Kind::array;
    for (const toml::node& item : *array) { node.children.push_back(node_of(item)); }
  } else if (const auto* text = value.as_string()) {
    node.kind = Node::Kind::text;
    node.text = text->get();
  } else if (const auto* integer = value.as_integer()) {
    node.kind = Node::Kind::integer;
    node.integer = integer->get();
    node.text = std::to_string(node.integer);
  } else if (const auto* real = value.as_floating_point()) {
    node.kind = Node::Kind::real;
    node.real = real->get();
    node.text = spelling(*real);
  } else if (const auto* boolean = value.as_boolean()) {
    node.kind = Node::Kind::boolean;
    node.boolean = boolean->get();
    node.text = node.boolean ? "true" : "false";
  } else {
    node.kind = Node::Kind::date;
    value.visit([&node](const auto& date) {
      if constexpr (!toml::is_table<decltype(date)> && !toml::is_array<decltype(date)>) { node.text = spelling(date); }
    });
  }
  return node;
}

}  // namespace

std::string Node::shown() const {
  switch (kind) {
    case Kind::table: return "a table";
    case Kind::array: return "a list";
    case Kind::text: return base::quoted(text, '"');
    case Kind::integer:
    case Kind::real:
    case Kind::boolean: return text;
    case Kind::date: return "the date " + text;
  }
  return text;
}

const Node* Node::find(std::string_view child) const {
  const auto found = std::find_if(children.begin(), children.end(), [&](const Node& n) { return n.name == child; });
  return found == children.end() ? nullptr : &*found;
}

TomlText parse_toml(std::string_view text) {
  TomlText parsed;
  try {
    parsed.root = node_of(toml::parse(text));
  } catch (const toml::parse_error& error) {
    const toml::source_position& at = error.source().begin;
    parsed.problem =
        SyntaxProblem{.line = std::max(1, static_cast<int>(at.line)),
                      .message = base::echo(error.description()) + " (column " + std::to_string(at.column) + ")"};
  }
  return parsed;
}

}  // namespace hapax::config
