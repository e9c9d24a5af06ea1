// Reads [queues.X].
#include "app/config/queue_keys.hpp"
#include "app/config/reader.hpp"
#include "base/limits.hpp"

namespace hapax::config {
namespace {

std::vector<std::string> known_keys() {
  std::vector<std::string> names;
  for (const QueueKey& key : queue_keys()) { names.emplace_back(key.name); }
  names.emplace_back("burst");
  return names;
}

std::string expected(const QueueKey& key) {
  switch (key.kind) {
    case QueueKey::Kind::duration: return "a duration in quotes such as \"30d\", \"12h\" or \"0\"";
    case QueueKey::Kind::rate: return "a rate in quotes such as \"100/sec\" or \"30/min burst 5\"";
    case QueueKey::Kind::number: return "a whole number such as 20, or \"none\"";
    case QueueKey::Kind::flag: return "true or false";
  }
  return "";
}

bool is_of_kind(const Node& value, const QueueKey& key) {
  switch (key.kind) {
    case QueueKey::Kind::duration:
    case QueueKey::Kind::rate: return value.kind == Node::Kind::text;
    case QueueKey::Kind::number:
      return value.kind == Node::Kind::integer || (value.kind == Node::Kind::text && value.text == key.absent);
    case QueueKey::Kind::flag: return value.kind == Node::Kind::boolean;
  }
  return false;
}

}  // namespace

void Reader::read_queue(const Node& table) {
  const std::string where = key_path("queues", table.name);
  if (!is_named_table(table, where, "[queues.payments] with its settings below")) { return; }
  model::QueuePatch patch;
  for (const Node& value : table.children) {
    if (value.name != "burst") { read_queue_value(patch, value, where); }
  }
  read_burst(patch, table, where);
  reading_.config.queues.insert_or_assign(table.name, patch);
}

void Reader::read_queue_value(model::QueuePatch& patch, const Node& value, const std::string& where) {
  const QueueKey* key = find_queue_key(value.name);
  if (key == nullptr) {
    refuse_unknown(value, where, known_keys());
    return;
  }
  const std::string field = key_path(where, value.name);
  if (!is_of_kind(value, *key)) {
    add_problem(value, field, "is " + value.shown() + "; expected " + expected(*key));
    return;
  }
  try {
    set_queue_value(patch, *key, value.text, field);
    state(value, field, value.text);
  } catch (const InvalidArgument& error) { add_problem(value, field, error.what()); }
}

// Reads `burst = 5` beside a rate_limit, which is the same as "… burst 5" in the rate_limit.
void Reader::read_burst(model::QueuePatch& patch, const Node& table, const std::string& where) {
  const Node* burst = table.find("burst");
  if (burst == nullptr) { return; }
  const std::string field = key_path(where, "burst");
  if (burst->kind != Node::Kind::integer || burst->integer < 0 || burst->integer > limits::rate) {
    add_problem(
        *burst, field,
        "is " + burst->shown() + "; expected a whole number from 0 to " + std::to_string(limits::rate) + ", such as 5");
    return;
  }
  if (table.find("rate_limit") == nullptr || (patch.rate && !*patch.rate)) {
    add_problem(*burst, field, "is given without a rate; expected rate_limit = \"100/sec\" beside it");
    return;
  }
  if (!patch.rate) { return; }  // the rate_limit is invalid, which is reported already
  if ((*patch.rate)->burst != 0) {
    add_problem(*burst, field, "is given twice, the rate_limit has one; expected one of them");
    return;
  }
  (*patch.rate)->burst = burst->integer;
  state(*burst, field, burst->text);
}

}  // namespace hapax::config
