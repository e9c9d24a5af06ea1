// Reads [tasks.X]. The catalogue's own JSON form validates each member, so that a file and the API accept the same.
#include "app/config/reader.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace hapax::config {
namespace {

using nlohmann::json;

const std::vector<std::string>& read_task_known_keys() {
  static const std::vector<std::string> names = {
      "queue",    "identity_strategy", "identity_keys", "identity_scope", "fingerprint", "reuse", "dedup_window",
      "priority", "max_attempts",      "max_lost",      "timeout",        "deadline",    "retry"};
  return names;
}

// The message of an error about one member. The catalogue reports a value out of range under the whole task, with the
// request's name for the member; the message here names the file's key.
std::string message_for_file(const InvalidArgument& error, const std::string& where, const std::string& member) {
  std::string message = error.what();
  if (error.field() != where) { return message; }
  const std::string inner = message.substr(where.size() + 2);
  if (inner.starts_with(member)) { return where + "." + inner; }
  const std::size_t colon = inner.find(": ");
  return where + "." + member + inner.substr(colon == std::string::npos ? inner.size() : colon);
}

std::string spelled(const Node& node) {
  return node.kind == Node::Kind::table || node.kind == Node::Kind::array ? json_text_of(node) : node.text;
}

}  // namespace

void Reader::read_task(const Node& table) {
  const std::string where = key_path("tasks", table.name);
  if (!is_named_table(table, where, "[tasks.generate-report] with its settings below")) { return; }
  bool good = true;
  json whole = json::object();
  for (const Node& member : table.children) {
    if (read_task_member(member, where)) {
      whole[member.name] = json::parse(json_text_of(member));
    } else {
      good = false;
    }
  }
  if (!good) { return; }
  try {
    reading_.config.tasks.insert_or_assign(table.name, model::decode_definition(whole.dump(), where));
  } catch (const InvalidArgument& error) {
    // Members that exclude each other: identity_keys without contextual, contextual without identity_keys.
    const std::string& field = error.field();
    const Node* member = field.size() > where.size() ? table.find(field.substr(where.size() + 1)) : nullptr;
    add_problem(member == nullptr ? table : *member, field, error.what());
  }
}

bool Reader::read_task_member(const Node& member, const std::string& where) {
  const std::vector<std::string>& known = read_task_known_keys();
  if (std::find(known.begin(), known.end(), member.name) == known.end()) {
    refuse_unknown(member, where, known);
    return false;
  }
  const std::string field = key_path(where, member.name);
  if (const Node* foreign = find_foreign(member, Dates::foreign)) {
    add_problem(member, field, "has " + foreign->shown() + "; expected texts, numbers and lists of them");
    return false;
  }
  json alone = {{member.name, json::parse(json_text_of(member))}};
  // These two members are valid only together, so a stand-in for the other is added.
  if (alone == json{{"identity_strategy", "contextual"}}) { alone["identity_keys"] = {"/any"}; }
  if (member.name == "identity_keys") { alone["identity_strategy"] = "contextual"; }
  try {
    (void)model::decode_definition(alone.dump(), where);
  } catch (const InvalidArgument& error) {
    const std::string message = message_for_file(error, where, member.name);
    const std::string key = message.substr(0, message.find(": ", where.size()));
    const Node* part = key.size() > field.size() ? member.find(key.substr(field.size() + 1)) : nullptr;
    add_problem(part == nullptr ? member : *part, key, message);
    return false;
  }
  state(member, field, spelled(member));
  return true;
}

}  // namespace hapax::config
