#include "cli/event_input.hpp"

#include "base/json.hpp"
#include "base/json_out.hpp"
#include "cli/arguments.hpp"
#include "cli/problem.hpp"

namespace hapax::cli {

bool is_json_argument(const std::string& argument) {
  const std::size_t first = argument.find_first_not_of(" \t\r\n");
  return first != std::string::npos && (argument[first] == '{' || argument[first] == '[');
}

std::string path_of_argument(const std::string& argument) {
  return argument.starts_with("@") ? argument.substr(1) : argument;
}

schedule::Event read_event(const std::string& argument) {
  const bool is_json = is_json_argument(argument);
  const std::string path = is_json || argument == "-" ? argument : path_of_argument(argument);
  const std::string text = is_json ? argument : read_payload(argument == "-" ? "-" : "@" + path, "event");
  try {
    return schedule::parse_event(text);
  } catch (const InvalidArgument& error) {
    const std::string place = is_json ? "" : argument == "-" ? "standard input: " : path + ": ";
    throw BadData(error.name(), place + error.what(), error.field());
  }
}

std::string envelope_of(const EventParts& parts) {
  if (!parts.source || !parts.type) {
    throw BadUsage(
        "--source and --type are needed: who tells it and what happened, as in --source /shop --type order.created");
  }
  JsonObject object;
  object.text("specversion", "1.0");
  if (parts.id) { object.text("id", *parts.id); }
  object.text("source", *parts.source).text("type", *parts.type);
  if (parts.subject) { object.text("subject", *parts.subject); }
  if (parts.data) {
    const std::string data = read_payload(*parts.data, "data");
    base::check_json(data, "data");
    object.raw("data", data);
  }
  return object.str();
}

}  // namespace hapax::cli
