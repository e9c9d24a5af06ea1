// Event: a CloudEvents 1.0 envelope (SPEC S8), as one value however it came: as a JSON object (structured mode), in a
// list of them (batch), or as HTTP headers and a body (binary mode).
//
// Every error names the attribute, says what came and what was expected. A value; any thread.
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
  std::optional<Time> time;  // finer than microseconds is cut off
  std::optional<std::string> datacontenttype;
  std::optional<std::string> dataschema;
  std::optional<std::string> data;         // checked JSON bytes
  std::optional<std::string> data_base64;  // instead of data: base64 of any bytes
  // Further attributes by name, in its order: JSON strings, booleans and 32-bit integers.
  std::vector<std::pair<std::string, std::string>> extensions;
};

// What is done about an event without an id.
enum class MissingId {
  hash,    // it gets one by id_from_content
  refuse,  // require_event_id = true
};

// Throws InvalidJson, InvalidArgument naming the attribute, and PayloadTooLarge beyond limits::event_bytes. An attribute
// that is null counts as not given.
[[nodiscard]] Event parse_event(std::string_view json, MissingId missing_id = MissingId::hash);

// A list of events. An error begins with the number of its event: "events[3].type: …".
[[nodiscard]] std::vector<Event> parse_event_batch(std::string_view json, MissingId missing_id = MissingId::hash);

// Binary mode: ce-id, ce-source, … with names in either case, values unquoted and percent-decoded; content-type is the
// datacontenttype. Other headers are passed by. A body of JSON, or with no content-type, is taken as data; text and XML in
// UTF-8 as a JSON string, as structured mode has them; any other as data_base64.
struct HttpMessage {
  std::vector<std::pair<std::string, std::string>> headers;
  std::string_view body;
};
[[nodiscard]] Event parse_binary_event(const HttpMessage& message, MissingId missing_id = MissingId::hash);

// "sha256-" and the hash of source, type, subject and canonical data: the same event sent again gets the same id. Its time
// and extensions do not count, as senders renew them when they try again. Stable for ever.
[[nodiscard]] std::string id_from_content(const Event& event);

// The envelope as one JSON object: specversion, id, source and type first, then what there is of the others.
[[nodiscard]] std::string encode_event(const Event& event);
void append_event(std::string& out, const Event& event);

// CloudEvents advises 20, and lets senders use more.
inline constexpr std::size_t attribute_name_bytes = 64;

// An attribute's name as CloudEvents has them: lower-case letters and digits, at most attribute_name_bytes.
[[nodiscard]] bool is_attribute_name(std::string_view name);

// The JSON of what a checked JSON Pointer finds in the envelope: /data/order/id, /subject, /tenant. Nothing when it is
// not there.
[[nodiscard]] std::optional<std::string> value_at(const Event& event, std::string_view pointer);

}  // namespace hapax::schedule
