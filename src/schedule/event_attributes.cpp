#include "schedule/event_attributes.hpp"

#include <hapax/error.hpp>

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

[[noreturn]] void refuse(std::string_view attribute, const std::string& problem) {
  throw InvalidArgument(std::string(attribute), problem);
}

std::string such_as(const Attribute& attribute) {
  return "; expected a text such as \"" + std::string(attribute.example) + "\"";
}

const Attribute* find(std::string_view name) {
  const auto* const found =
      std::find_if(attributes.begin(), attributes.end(), [name](const Attribute& one) { return one.name == name; });
  return found == attributes.end() ? nullptr : found;
}

void check_text(const Attribute& attribute, std::string_view text) {
  if (text.empty()) { refuse(attribute.name, "is empty" + such_as(attribute)); }
  if (text.size() > attribute.most_bytes) {
    refuse(attribute.name,
           "has " + std::to_string(text.size()) + " bytes; expected at most " + std::to_string(attribute.most_bytes));
  }
  if (!base::is_valid_utf8(text)) { refuse(attribute.name, base::quoted(text) + " is not UTF-8" + such_as(attribute)); }
  if (base::has_control_characters(text)) {
    refuse(attribute.name, base::quoted(text) + " has control characters" + such_as(attribute));
  }
}

void check_base64(std::string_view text) {
  std::size_t digits = std::min(text.find('='), text.size());
  const bool padded = text.size() % 4 == 0 && text.size() - digits <= 2 &&
                      text.find_first_not_of('=', digits) == std::string_view::npos;
  if (!padded || text.substr(0, digits).find_first_not_of(base64_digits) != std::string_view::npos) {
    refuse("data_base64", base::quoted(text) + " is not base64; expected a text such as \"AAEC\"");
  }
}

void check_name(std::string_view name) {
  if (is_attribute_name(name)) { return; }
  std::vector<std::string_view> known = {"data"};
  for (const Attribute& one : attributes) { known.push_back(one.name); }
  const std::string near = base::did_you_mean(name, known);
  refuse(base::echo(name),
         "is no attribute's name" +
             (near.empty() ? "; expected at most 20 lower-case letters and digits, such as \"tenant\"" : near));
}

std::string encode_base64(std::string_view bytes) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < count ? static_cast<std::uint8_t>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) { out.push_back(i <= count ? base64_digits[group >> (18 - 6 * i) & 63] : '='); }
  }
  return out;
}

// What is taken can be written and taken again: base64 and a made id make an event longer than it came. All attributes
// together are far below half of the usual limit, so only large data has to be looked at.
void check_encoded_size(const Event& event) {
  const std::size_t data = event.data ? event.data->size() : event.data_base64 ? event.data_base64->size() : 0;
  const std::size_t most = base::part_limit(limits::event_bytes);
  if (most == limits::event_bytes && data <= most / 2) { return; }
  if (const std::size_t size = encode_event(event).size(); size > most) { throw PayloadTooLarge("event", size, most); }
}

// "application/json; charset=utf-8" is application/json.
std::string media_type(std::string_view text) {
  text = text.substr(0, text.find(';'));
  while (!text.empty() && text.back() == ' ') { text.remove_suffix(1); }
  std::string lower(text);
  for (char& character : lower) {
    if (character >= 'A' && character <= 'Z') { character = static_cast<char>(character - 'A' + 'a'); }
  }
  return lower;
}

}  // namespace

void EventAttributes::set_json(std::string_view name, std::string_view json) {
  if (name == "data") {
    if (json_depth_of(json) > limits::event_depth) {
      refuse("data", "has more than " + std::to_string(limits::event_depth) +
                         " objects and lists inside each other; expected flatter data");
    }
    event_.data = json;
    return;
  }
  if (json == "null") { return; }
  const Attribute* const attribute = find(name);
  if (attribute == nullptr) {
    set_extension(name, json);
    return;
  }
  if (json.front() != '"') { refuse(name, "is " + base::echo(json) + such_as(*attribute)); }
  std::string text;
  base::append_json_unescaped(text, json.substr(1, json.size() - 2));
  set_text(name, std::move(text));
}

void EventAttributes::set_text(std::string_view name, std::string text) {
  const Attribute* const attribute = find(name);
  if (attribute == nullptr) {
    if (!base::is_valid_utf8(text)) { refuse(base::echo(name), base::quoted(text) + " is not UTF-8"); }
    set_extension(name, base::json_quote(text));
    return;
  }
  check_text(*attribute, text);
  if (name == "specversion") {
    if (text != "1.0") { refuse(name, "is " + base::quoted(text) + "; expected \"1.0\", the version of CloudEvents"); }
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
  if (event_.extensions.size() >= limits::event_extensions) {
    refuse(name, "is one attribute too many; expected at most " + std::to_string(limits::event_extensions) +
                     " beside those of CloudEvents");
  }
  if (json.front() == '"') {
    std::string text;
    base::append_json_unescaped(text, json.substr(1, json.size() - 2));
    if (text.size() > limits::event_source_bytes || !base::is_valid_utf8(text) || base::has_control_characters(text)) {
      refuse(name, base::quoted(text) + " cannot be an attribute; expected at most " +
                       std::to_string(limits::event_source_bytes) + " bytes of UTF-8 without control characters");
    }
  } else if (json != "true" && json != "false") {
    std::int32_t number = 0;
    const auto [end, problem] = std::from_chars(json.data(), json.data() + json.size(), number);
    if (problem != std::errc() || end != json.data() + json.size()) {
      refuse(name, "is " + base::echo(json) +
                       "; expected a text, a boolean or a 32-bit whole number (payloads go into data)");
    }
  }
  event_.extensions.emplace_back(name, json);
}

void EventAttributes::set_body(std::string_view body) {
  if (body.empty()) { return; }
  const std::string type = event_.datacontenttype ? media_type(*event_.datacontenttype) : "application/json";
  if (type == "application/json" || type == "text/json" || type.ends_with("+json")) {
    base::check_json(body, "data");
    const std::size_t first = body.find_first_not_of(" \t\r\n");
    set_json("data", body.substr(first, body.find_last_not_of(" \t\r\n") - first + 1));
  } else if (type.starts_with("text/") && base::is_valid_utf8(body)) {
    event_.data = base::json_quote(body);
  } else {
    event_.data_base64 = encode_base64(body);
  }
}

Event EventAttributes::finish(MissingId missing_id) {
  if (!has_specversion_) { refuse("specversion", "is missing; expected \"1.0\", the version of CloudEvents"); }
  if (event_.source.empty()) { refuse("source", "is missing" + such_as(*find("source"))); }
  if (event_.type.empty()) { refuse("type", "is missing" + such_as(*find("type"))); }
  if (event_.data && event_.data_base64) { refuse("data_base64", "given together with data; expected one of them"); }
  std::sort(event_.extensions.begin(), event_.extensions.end());
  for (std::size_t i = 1; i < event_.extensions.size(); ++i) {
    if (event_.extensions[i].first == event_.extensions[i - 1].first) {
      refuse(event_.extensions[i].first, "is given twice; expected one value");
    }
  }
  if (event_.id.empty()) {
    if (missing_id == MissingId::refuse) {
      refuse("id",
             "is missing, and require_event_id is set; expected one that stays the same when the event is sent "
             "again, such as \"evt_abc123\"");
    }
    event_.id = id_from_content(event_);
  }
  check_encoded_size(event_);
  return std::move(event_);
}

}  // namespace hapax::schedule
