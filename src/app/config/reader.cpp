#include "app/config/reader.hpp"

#include "base/json.hpp"
#include "base/text.hpp"
#include "model/validate.hpp"
#include "store/open.hpp"

#include <algorithm>
#include <array>

namespace hapax::config {
namespace {

constexpr std::array<std::string_view, 8> sections = {"store",  "server", "identity",   "cleanup",
                                                      "worker", "events", "encryption", "limits"};

bool is_bare(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

// The keys of a section: "lease", "heartbeat", … for "worker"; the keys at the top level for "".
std::vector<std::string> keys_of(std::string_view section) {
  std::vector<std::string> names;
  for (const ScalarKey& scalar : scalar_keys()) {
    const std::size_t dot = scalar.key.find('.');
    const std::string_view owner = dot == std::string_view::npos ? "" : scalar.key.substr(0, dot);
    if (owner == section) { names.emplace_back(scalar.key.substr(dot == std::string_view::npos ? 0 : dot + 1)); }
  }
  return names;
}

const ScalarKey* find_scalar(std::string_view key) {
  for (const ScalarKey& scalar : scalar_keys()) {
    if (scalar.key == key) { return &scalar; }
  }
  return nullptr;
}

// An example value as the file spells it: "30s" in quotes, 8 without.
std::string expected(const ScalarKey& scalar) {
  const std::string example(scalar.example);
  if (scalar.kind == Node::Kind::boolean) { return "; expected true or false"; }
  return scalar.kind == Node::Kind::integer ? "; expected a whole number such as " + example
                                            : "; expected a text in quotes such as \"" + example + "\"";
}

}  // namespace

std::string key_path(std::string_view section, std::string_view name) {
  const std::string shown = is_bare(name) ? base::echo(name) : base::json_quote(base::echo(name));
  return section.empty() ? shown : std::string(section) + "." + shown;
}

void Reader::read(const Node& root) {
  for (const Node& node : root.children) {
    const bool is_section = std::find(sections.begin(), sections.end(), node.name) != sections.end();
    const bool holds_names = node.name == "queues" || node.name == "tasks" || node.name == "activities";
    if (is_section || holds_names) {
      if (node.kind != Node::Kind::table) {
        add_problem(node, node.name,
                    "is " + node.shown() + "; expected a table such as [" + node.name + (holds_names ? ".NAME]" : "]"));
      } else if (is_section) {
        read_section(node);
      } else {
        for (const Node& table : node.children) { read_named(node.name, table); }
      }
    } else if (find_scalar(node.name) != nullptr) {
      read_section({.children = {node}});
    } else {
      refuse_unknown(node, "",
                     {"store", "server", "queues", "tasks", "activities", "identity", "encryption", "events", "cleanup",
                      "limits", "worker", "namespace"});
    }
  }
}

void Reader::read_named(std::string_view section, const Node& table) {
  if (section == "queues") { return read_queue(table); }
  if (section == "tasks") { return read_task(table); }
  read_activity(table);
}

void Reader::read_section(const Node& section) {
  for (const Node& value : section.children) {
    const std::string key = key_path(section.name, value.name);
    const ScalarKey* scalar = find_scalar(key);
    if (scalar == nullptr) {
      refuse_unknown(value, section.name, keys_of(section.name));
      continue;
    }
    if (value.kind != scalar->kind) {
      add_problem(value, key, "is " + value.shown() + expected(*scalar));
      continue;
    }
    try {
      scalar->set(reading_.config, value.text, key);
      state(value, key, key == "store.url" ? store::display_url(value.text) : value.text);
    } catch (const InvalidArgument& error) { add_problem(value, key, error.what()); }
  }
}

bool Reader::is_named_table(const Node& node, const std::string& where, std::string_view example) {
  if (node.kind != Node::Kind::table) {
    add_problem(node, where, "is " + node.shown() + "; expected a table such as " + std::string(example));
    return false;
  }
  try {
    model::check_name(node.name, where);
  } catch (const InvalidArgument& error) {
    add_problem(node, where, error.what());
    return false;
  }
  return true;
}

void Reader::refuse_unknown(const Node& node, const std::string& where, const std::vector<std::string>& known) {
  std::string message = std::string("unknown ") + (node.kind == Node::Kind::table ? "section" : "key");
  message += base::suggestion(node.name, known);
  if (node.kind == Node::Kind::table && (where.starts_with("queues.") || where.starts_with("tasks."))) {
    message += " (a name with a dot stands in quotes: [queues.\"eu.payments\"])";
  }
  add_problem(node, key_path(where, node.name), message);
}

void Reader::state(const Node& node, const std::string& key, const std::string& value) {
  reading_.config.state({.key = key, .value = value, .source = source(node), .line = node.line});
}

void Reader::add_problem(const Node& node, const std::string& key, const std::string& message) {
  const std::string lead = key + ": ";
  reading_.problems.push_back({.source = source(node),
                               .key = key,
                               .message = message.starts_with(lead) ? message.substr(lead.size()) : message,
                               .line = node.line});
}

}  // namespace hapax::config
