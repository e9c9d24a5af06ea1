#include "schedule/event.hpp"

#include <hapax/error.hpp>

#include "base/base64.hpp"
#include "base/json.hpp"
#include "base/json_pointer.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "schedule/event_attributes.hpp"

#include <algorithm>
#include <array>

namespace hapax::schedule {

namespace {

constexpr std::string_view example =
    R"({"specversion": "1.0", "id": "evt_1", "source": "/shop", "type": "order.created", "data": {}})";

void append_name(std::string& out, std::string_view name) {
  out += ",\"";
  out += name;
  out += "\":";
}

void append_member(std::string& out, std::string_view name, std::string_view json) {
  append_name(out, name);
  out += json;
}

void append_text(std::string& out, std::string_view name, std::string_view text) {
  append_name(out, name);
  base::append_json_quoted(out, text);
}

void append_text(std::string& out, std::string_view name, const std::optional<std::string>& text) {
  if (text) { append_text(out, name, std::string_view(*text)); }
}

// The JSON of an attribute other than data.
std::optional<std::string> attribute_of(const Event& event, std::string_view name) {
  const auto quoted = [](const std::optional<std::string>& text) {
    return text ? std::optional(base::json_quote(*text)) : std::nullopt;
  };
  if (name == "specversion") { return "\"1.0\""; }
  if (name == "id") { return quoted(event.id); }
  if (name == "source") { return quoted(event.source); }
  if (name == "type") { return quoted(event.type); }
  if (name == "subject") { return quoted(event.subject); }
  if (name == "time") { return event.time ? quoted(format_time(*event.time)) : std::nullopt; }
  if (name == "datacontenttype") { return quoted(event.datacontenttype); }
  if (name == "dataschema") { return quoted(event.dataschema); }
  if (name == "data_base64") { return quoted(event.data_base64); }
  for (const auto& [extension, json] : event.extensions) {
    if (extension == name) { return json; }
  }
  return std::nullopt;
}

Event parse_checked(std::string_view json, MissingId missing_id) {
  const std::size_t first = json.find_first_not_of(" \t\r\n");
  if (json[first] != '{') {
    throw InvalidArgument("event", "is no JSON object; expected one such as " + std::string(example));
  }
  EventAttributes attributes;
  base::JsonCursor cursor(json);
  cursor.step();
  while (cursor.peek() != '}') {
    if (cursor.peek() == ',') { cursor.step(); }
    const std::string_view name = cursor.string();
    cursor.step();
    if (name.find('\\') == std::string_view::npos) {
      attributes.set_json(name, cursor.value());
    } else {
      std::string unescaped;
      base::append_json_unescaped(unescaped, name);
      attributes.set_json(unescaped, cursor.value());
    }
  }
  return attributes.finish(missing_id);
}

void check_size(std::string_view json, std::string_view field) {
  if (const std::size_t most = base::part_limit(limits::event_bytes); json.size() > most) {
    throw PayloadTooLarge(std::string(field), json.size(), most);
  }
}

// The JSON data that binary mode would make of data_base64, if any. SDKs send data that they were given as bytes in
// structured mode as base64, even if it is text or JSON.
std::optional<std::string> data_of_bytes(const Event& event) {
  const std::optional<std::string> bytes = base::from_base64(*event.data_base64);
  if (!bytes) { return std::nullopt; }
  try {
    return data_of_body(event.datacontenttype, *bytes);
  } catch (const Error&) { return std::nullopt; }
}

// The data's part in id_from_content. An event must get the same id in structured and binary mode. A prefix
// distinguishes JSON from bytes. Empty data counts as absent, as binary mode cannot distinguish the two.
std::string data_for_id(const Event& event) {
  if (event.data) { return "j" + base::canonical_json(*event.data, "data"); }
  if (!event.data_base64 || event.data_base64->empty()) { return {}; }
  const std::optional<std::string> data = data_of_bytes(event);
  return data ? "j" + base::canonical_json(*data, "data") : "b" + *event.data_base64;
}

}  // namespace

Event parse_event(std::string_view json, MissingId missing_id) {
  check_size(json, "event");
  base::check_json(json, "event");
  return parse_checked(json, missing_id);
}

std::vector<Event> parse_event_batch(std::string_view json, MissingId missing_id) {
  constexpr std::size_t most = limits::events_per_batch;
  if (json.size() > most * limits::event_bytes) {
    throw PayloadTooLarge("events", json.size(), most * limits::event_bytes);
  }
  const std::vector<std::string_view> items = base::json_items(json, "events");
  if (items.size() > most) {
    throw InvalidArgument(
        "events", std::to_string(items.size()) + " events in one batch; expected at most " + std::to_string(most));
  }
  std::vector<Event> events;
  events.reserve(items.size());
  for (const std::string_view item : items) {
    const std::string at = "events[" + std::to_string(events.size()) + "]";
    check_size(item, at);
    try {
      events.push_back(parse_checked(item, missing_id));
    } catch (const InvalidArgument& error) {
      const std::string lead = error.field() + ": ";
      const std::string message = error.what();
      throw InvalidArgument(at + "." + error.field(),
                            message.starts_with(lead) ? message.substr(lead.size()) : message);
    }
  }
  return events;
}

std::string id_from_content(const Event& event) {
  // An absent subject is hashed as an empty one, which no event may have.
  const std::string data = data_for_id(event);
  const std::string_view subject = event.subject ? std::string_view(*event.subject) : std::string_view();
  const std::array<std::string_view, 4> parts = {event.source, event.type, subject, data};
  return "sha256-" + base::to_hex(base::sha256_parts(parts));
}

std::string encode_event(const Event& event) {
  std::string out;
  append_event(out, event);
  return out;
}

void append_event(std::string& out, const Event& event) {
  out.reserve(out.size() + 200 + (event.data ? event.data->size() : 0));
  out += R"({"specversion":"1.0")";
  append_text(out, "id", std::string_view(event.id));
  append_text(out, "source", std::string_view(event.source));
  append_text(out, "type", std::string_view(event.type));
  append_text(out, "subject", event.subject);
  if (event.time) { append_text(out, "time", std::string_view(format_time(*event.time))); }
  append_text(out, "datacontenttype", event.datacontenttype);
  append_text(out, "dataschema", event.dataschema);
  for (const auto& [name, json] : event.extensions) { append_member(out, name, json); }
  if (event.data) { append_member(out, "data", *event.data); }
  append_text(out, "data_base64", event.data_base64);
  out.push_back('}');
}

bool is_attribute_name(std::string_view name) {
  return !name.empty() && name.size() <= attribute_name_bytes &&
         std::all_of(name.begin(), name.end(), [](char character) {
           return (character >= 'a' && character <= 'z') || (character >= '0' && character <= '9');
         });
}

std::optional<std::string> value_at(const Event& event, std::string_view pointer) {
  if (pointer.empty()) { return encode_event(event); }
  const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
  const std::string_view name = pointer.substr(1, end - 1);
  const std::string_view rest = pointer.substr(end);
  if (name == "data") {
    if (!event.data) { return std::nullopt; }
    const auto found = base::find_json_pointer(*event.data, rest);
    return found ? std::optional<std::string>(*found) : std::nullopt;
  }
  return rest.empty() ? attribute_of(event, name) : std::nullopt;
}

}  // namespace hapax::schedule
