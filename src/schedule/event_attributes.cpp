#include "schedule/event_attributes.hpp"

#include <hapax/error.hpp>

#include "base/base64.hpp"
#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/text.hpp"
#include "schedule/template.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace hapax::schedule {

namespace {

struct Attribute {
  std::string_view name;
  std::string_view example;
  std::size_t most_bytes;
};
constexpr std::array<Attribute, 9> attributes = {{
    {"specversion", "1.0", limits::name_bytes},
    {"id", "evt_abc123", limits::key_bytes},
    {"source", "/shop", limits::event_source_bytes},
    {"type", "order.created", limits::name_bytes},
    {"subject", "order/456", limits::event_source_bytes},
    {"time", "2026-03-01T09:00:00Z", limits::name_bytes},
    {"datacontenttype", "application/json", limits::name_bytes},
    {"dataschema", "https://example.com/order.json", limits::event_source_bytes},
    {"data_base64", "AAEC", limits::event_bytes},
}};

constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

[[noreturn]] void event_attributes_refuse(std::string_view attribute, const std::string& problem) {
  throw InvalidArgument(std::string(attribute), problem);
}

std::string such_as(const Attribute& attribute) {
  return "; expected a text such as \"" + std::string(attribute.example) + "\"";
}

// Members of one envelope: the attributes of CloudEvents, data, and extensions. Null members count, as in
// event.schema.json.
constexpr std::size_t event_members = attributes.size() + 1 + limits::event_extensions;

// A bad trace context never fails a request: one that is no valid attribute is dropped.
bool is_trace_context(std::string_view name) { return name == "traceparent" || name == "tracestate"; }

bool is_short_text(std::string_view json) {
  if (!json.starts_with('"')) { return false; }
  std::string text;
  base::append_json_unescaped(text, json.substr(1, json.size() - 2));
  return text.size() <= limits::event_source_bytes && base::is_valid_utf8(text) && !base::has_control_characters(text);
}

const Attribute* find(std::string_view name) {
  const auto* const found =
      std::find_if(attributes.begin(), attributes.end(), [name](const Attribute& one) { return one.name == name; });
  return found == attributes.end() ? nullptr : found;
}

void check_text(const Attribute& attribute, std::string_view text) {
  // Empty data_base64 is valid: data of zero bytes.
  if (text.empty() && attribute.name != "data_base64") {
    event_attributes_refuse(attribute.name, "is empty" + such_as(attribute));
  }
  if (text.size() > attribute.most_bytes) {
    event_attributes_refuse(attribute.name, "has " + std::to_string(text.size()) + " bytes; expected at most " +
                                                std::to_string(attribute.most_bytes));
  }
  if (!base::is_valid_utf8(text)) {
    event_attributes_refuse(attribute.name, base::quoted(text) + " is not UTF-8" + such_as(attribute));
  }
  if (base::has_control_characters(text)) {
    event_attributes_refuse(attribute.name, base::quoted(text) + " has control characters" + such_as(attribute));
  }
}

void check_base64(std::string_view text) {
  std::size_t digits = std::min(text.find('='), text.size());
  const bool padded = text.size() % 4 == 0 && text.size() - digits <= 2 &&
                      text.find_first_not_of('=', digits) == std::string_view::npos;
  if (!padded || text.substr(0, digits).find_first_not_of(base64_digits) != std::string_view::npos) {
    event_attributes_refuse("data_base64", base::quoted(text) + " is not base64; expected a text such as \"AAEC\"");
  }
}

void check_name(std::string_view name) {
  if (is_attribute_name(name)) { return; }
  std::vector<std::string_view> known = {"data"};
  for (const Attribute& one : attributes) { known.push_back(one.name); }
  const std::string near = base::did_you_mean(name, known);
  event_attributes_refuse(
      base::echo(name),
      "is no attribute's name" + (near.empty() ? "; expected at most " + std::to_string(attribute_name_bytes) +
                                                     " lower-case letters and digits, such as \"tenant\""
                                               : near));
}

// Checks that the encoded event is within the limit too, so that it can be parsed again: base64 and a generated id make
// an event longer than it was received. All attributes together are far below half of the usual limit, so only an event
// with large data is encoded for the check.
void check_encoded_size(const Event& event) {
  const std::size_t data = event.data ? event.data->size() : event.data_base64 ? event.data_base64->size() : 0;
  const std::size_t most = base::part_limit(limits::event_bytes);
  if (most == limits::event_bytes && data <= most / 2) { return; }
  if (const std::size_t size = encode_event(event).size(); size > most) { throw PayloadTooLarge("event", size, most); }
}

// The type without parameters, in lower case: "application/json; charset=utf-8" gives application/json.
std::string media_type(std::string_view text) {
  text = text.substr(0, text.find(';'));
  while (!text.empty() && text.back() == ' ') { text.remove_suffix(1); }
  return base::lower(text);
}

// Whether structured mode carries data of this type as a JSON string.
bool is_text_type(std::string_view type) {
  return type.starts_with("text/") || type == "application/xml" || type.ends_with("+xml");
}

}  // namespace

void EventAttributes::count() {
  if (++members_ > event_members) {
    event_attributes_refuse(
        "event", "has more than " + std::to_string(event_members) + " attributes; expected fewer extensions");
  }
}

void EventAttributes::set_json(std::string_view name, std::string_view json) {
  count();
  if (name == "data") {
    if (json_depth_of(json) > limits::event_depth) {
      event_attributes_refuse("data", "has more than " + std::to_string(limits::event_depth) +
                                          " objects and lists inside each other; expected flatter data");
    }
    event_.data = json;
    return;
  }
  const Attribute* const attribute = find(name);
  if (json == "null") {
    if (attribute == nullptr) { check_name(name); }
    return;
  }
  if (attribute == nullptr) {
    set_extension(name, json);
    return;
  }
  if (json.front() != '"') { event_attributes_refuse(name, "is " + base::echo(json) + such_as(*attribute)); }
  std::string text;
  base::append_json_unescaped(text, json.substr(1, json.size() - 2));
  set_known(name, std::move(text));
}

void EventAttributes::set_text(std::string_view name, std::string text) {
  count();
  if (find(name) != nullptr) {
    set_known(name, std::move(text));
    return;
  }
  if (!base::is_valid_utf8(text)) {
    if (is_trace_context(name)) { return; }
    event_attributes_refuse(base::echo(name), base::quoted(text) + " is not UTF-8");
  }
  set_extension(name, base::json_quote(text));
}

void EventAttributes::set_known(std::string_view name, std::string text) {
  check_text(*find(name), text);
  if (name == "specversion") {
    if (text != "1.0") {
      event_attributes_refuse(name, "is " + base::quoted(text) + "; expected \"1.0\", the version of CloudEvents");
    }
    has_specversion_ = true;
  } else if (name == "id") {
    event_.id = std::move(text);
  } else if (name == "source") {
    event_.source = std::move(text);
  } else if (name == "type") {
    event_.type = std::move(text);
  } else if (name == "subject") {
    event_.subject = std::move(text);
  } else if (name == "time") {
    event_.time = parse_time(text, "time");
  } else if (name == "datacontenttype") {
    event_.datacontenttype = std::move(text);
  } else if (name == "dataschema") {
    event_.dataschema = std::move(text);
  } else {
    check_base64(text);
    event_.data_base64 = std::move(text);
  }
}

void EventAttributes::set_extension(std::string_view name, std::string_view json) {
  check_name(name);
  if (is_trace_context(name) && !is_short_text(json)) { return; }
  if (json.front() == '"') {
    std::string text;
    base::append_json_unescaped(text, json.substr(1, json.size() - 2));
    if (text.size() > limits::event_source_bytes || !base::is_valid_utf8(text) || base::has_control_characters(text)) {
      event_attributes_refuse(name, base::quoted(text) + " cannot be an attribute; expected at most " +
                                        std::to_string(limits::event_source_bytes) +
                                        " bytes of UTF-8 without control characters");
    }
  } else if (json != "true" && json != "false") {
    std::int32_t number = 0;
    const auto [end, problem] = std::from_chars(json.data(), json.data() + json.size(), number);
    if (problem != std::errc() || end != json.data() + json.size()) {
      event_attributes_refuse(
          name,
          "is " + base::echo(json) + "; expected a text, a boolean or a 32-bit whole number (payloads go into data)");
    }
  }
  event_.extensions.emplace_back(name, json);
}

std::optional<std::string> data_of_body(const std::optional<std::string>& datacontenttype, std::string_view body) {
  const std::string type = datacontenttype ? media_type(*datacontenttype) : "application/json";
  if (type == "application/json" || type == "text/json" || type.ends_with("+json")) {
    base::check_json(body, "data");
    const std::size_t first = body.find_first_not_of(" \t\r\n");
    return std::string(body.substr(first, body.find_last_not_of(" \t\r\n") - first + 1));
  }
  if (is_text_type(type) && base::is_valid_utf8(body)) { return base::json_quote(body); }
  return std::nullopt;
}

void EventAttributes::set_body(std::string_view body) {
  if (body.empty()) { return; }
  if (const std::optional<std::string> data = data_of_body(event_.datacontenttype, body)) {
    set_json("data", *data);
  } else {
    event_.data_base64 = base::to_base64(body);
  }
}

Event EventAttributes::finish(MissingId missing_id) {
  if (!has_specversion_) {
    event_attributes_refuse("specversion", "is missing; expected \"1.0\", the version of CloudEvents");
  }
  if (event_.source.empty()) { event_attributes_refuse("source", "is missing" + such_as(*find("source"))); }
  if (event_.type.empty()) { event_attributes_refuse("type", "is missing" + such_as(*find("type"))); }
  if (event_.data && event_.data_base64) {
    event_attributes_refuse("data_base64", "given together with data; expected one of them");
  }
  std::sort(event_.extensions.begin(), event_.extensions.end());
  for (std::size_t i = 1; i < event_.extensions.size(); ++i) {
    if (event_.extensions[i].first == event_.extensions[i - 1].first) {
      event_attributes_refuse(event_.extensions[i].first, "is given twice; expected one value");
    }
  }
  if (event_.id.empty()) {
    if (missing_id == MissingId::refuse) {
      event_attributes_refuse(
          "id",
          "is missing, and require_event_id is set; expected one that stays the same when the event is sent "
          "again, such as \"evt_abc123\"");
    }
    count();
    event_.id = id_from_content(event_);
  }
  check_encoded_size(event_);
  return std::move(event_);
}

}  // namespace hapax::schedule
