// Event: a CloudEvents 1.0 envelope as one value, whether received as a JSON object (structured mode), in a list of
// objects (batch), or as HTTP headers and a body (binary mode).
//
// Every error names the attribute, the given value and the expected one. A value type; any thread.
#pragma once

#include <hapax/time.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax::schedule {

struct Event {
  std::string id;  // 1..limits::key_bytes bytes, like an idempotency key
  std::string source;
  std::string type;
  std::optional<std::string> subject;
  std::optional<Time> time;  // truncated to microseconds
  std::optional<std::string> datacontenttype;
  std::optional<std::string> dataschema;
  std::optional<std::string> data;         // checked JSON bytes
  std::optional<std::string> data_base64;  // instead of data: base64 of any bytes
  // Extension attributes, ordered by name: JSON strings, booleans and 32-bit integers.
  std::vector<std::pair<std::string, std::string>> extensions;
};

// How an event without an id is handled.
enum class MissingId {
  hash,    // id_from_content makes an id
  refuse,  // require_event_id = true
};

// Throws InvalidJson, InvalidArgument naming the attribute, and PayloadTooLarge beyond limits::event_bytes. An
// attribute that is null counts as not given.
[[nodiscard]] Event parse_event(std::string_view json, MissingId missing_id = MissingId::hash);

// Parses a list of events. An error names the event's index: "events[3].type: …".
[[nodiscard]] std::vector<Event> parse_event_batch(std::string_view json, MissingId missing_id = MissingId::hash);

// Parses binary mode: headers ce-id, ce-source, … with names in either case, values unquoted and percent-decoded;
// content-type is the datacontenttype. Other headers are ignored. A JSON body, or a body without content-type, becomes
// data; text and XML in UTF-8 become a JSON string, as in structured mode; any other body becomes data_base64.
struct HttpMessage {
  std::vector<std::pair<std::string, std::string>> headers;
  std::string_view body;
};
[[nodiscard]] Event parse_binary_event(const HttpMessage& message, MissingId missing_id = MissingId::hash);

// "sha256-" and the hash of source, type, subject and canonical data: the same event sent again gets the same id. Time
// and extensions do not count, as senders renew them when they retry. Stable for ever.
[[nodiscard]] std::string id_from_content(const Event& event);

// The envelope as one JSON object: specversion, id, source and type first, then the optional attributes that are
// present.
[[nodiscard]] std::string encode_event(const Event& event);
void append_event(std::string& out, const Event& event);

// CloudEvents recommends at most 20 and permits more.
inline constexpr std::size_t attribute_name_bytes = 64;

// Whether CloudEvents permits the attribute name: lower-case letters and digits, at most attribute_name_bytes.
[[nodiscard]] bool is_attribute_name(std::string_view name);

// The JSON value at a checked JSON Pointer into the envelope: /data/order/id, /subject, /tenant. None: there is no
// value.
[[nodiscard]] std::optional<std::string> value_at(const Event& event, std::string_view pointer);

}  // namespace hapax::schedule
