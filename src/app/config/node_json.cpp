// Converts TOML values to JSON, for settings that are validated in their JSON form.
#include "app/config/reader.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace hapax::config {
namespace {

using nlohmann::json;

json json_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::table: {
      json object = json::object();
      for (const Node& child : node.children) { object[child.name] = json_of(child); }
      return object;
    }
    case Node::Kind::array: {
      json array = json::array();
      for (const Node& child : node.children) { array.push_back(json_of(child)); }
      return array;
    }
    case Node::Kind::text:
    case Node::Kind::date: return node.text;
    case Node::Kind::integer: return node.integer;
    case Node::Kind::real: return node.real;
    case Node::Kind::boolean: return node.boolean;
  }
  return nullptr;
}

}  // namespace

const Node* find_foreign(const Node& node, Dates dates) {
  const bool is_date = node.kind == Node::Kind::date && dates == Dates::foreign;
  if (is_date || (node.kind == Node::Kind::real && !std::isfinite(node.real))) { return &node; }
  for (const Node& child : node.children) {
    if (const Node* found = find_foreign(child, dates)) { return found; }
  }
  return nullptr;
}

std::string json_text_of(const Node& node) { return json_of(node).dump(); }

}  // namespace hapax::config
