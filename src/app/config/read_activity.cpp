// Reads [activities.ID] as JSON, with the lines of its members, for app/configuration.hpp.
#include "app/config/reader.hpp"

#include <nlohmann/json.hpp>

namespace hapax::config {
namespace {

using nlohmann::json;

constexpr std::string_view example = "[activities.daily-report] with its trigger and target below";

using Lines = std::map<std::string, int, std::less<>>;

void note_lines(const Node& node, const std::string& path, Lines& lines) {
  if (!path.empty()) { lines.emplace(path, node.line); }
  int index = 0;
  for (const Node& child : node.children) {
    if (node.kind == Node::Kind::array) {
      note_lines(child, path + "[" + std::to_string(index++) + "]", lines);
    } else {
      note_lines(child, path.empty() ? child.name : path + "." + child.name, lines);
    }
  }
}

}  // namespace

void Reader::read_activity(const Node& table) {
  const std::string where = key_path("activities", table.name);
  if (!is_named_table(table, where, example)) { return; }
  if (const Node* foreign = find_foreign(table, Dates::as_text)) {
    const std::string key = foreign->name.empty() ? where : key_path(where, foreign->name);
    add_problem(*foreign, key, "has " + foreign->shown() + "; expected what JSON can say too");
    return;
  }
  if (const Node* id = table.find("id"); id != nullptr && (id->kind != Node::Kind::text || id->text != table.name)) {
    add_problem(*id, key_path(where, "id"),
                "is " + id->shown() + "; the table's name is the id, so expected none, or \"" + table.name + "\"");
    return;
  }
  json definition = json::parse(json_text_of(table));
  definition["id"] = table.name;
  ActivityTable activity{.json = definition.dump(), .source = source(table), .line = table.line};
  note_lines(table, "", activity.lines);
  reading_.config.activities.insert_or_assign(table.name, std::move(activity));
  for (const Node& member : table.children) { state_activity(member, where); }
}

// Trigger and target are listed member by member; an input is listed as a whole.
void Reader::state_activity(const Node& node, const std::string& where) {
  const std::string key = key_path(where, node.name);
  if (node.kind == Node::Kind::table && (node.name == "trigger" || node.name == "target")) {
    for (const Node& member : node.children) { state_activity(member, key); }
    return;
  }
  const bool is_list = node.kind == Node::Kind::table || node.kind == Node::Kind::array;
  state(node, key, is_list ? json_text_of(node) : node.text);
}

}  // namespace hapax::config
