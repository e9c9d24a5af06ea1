// Binary mode of the HTTP binding: attributes in headers, the data as the body.
#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/text.hpp"
#include "schedule/event_attributes.hpp"

#include <algorithm>

namespace hapax::schedule {

namespace {

constexpr std::string_view prefix = "ce-";

int hex_digit(char character) {
  if (character >= '0' && character <= '9') { return character - '0'; }
  const char folded = static_cast<char>(character | 0x20);
  return folded >= 'a' && folded <= 'f' ? folded - 'a' + 10 : -1;
}

// Headers carry non-ASCII characters as %XX of their UTF-8 bytes. A % without two hexadecimal digits stands for itself.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const int high = text[at] == '%' && at + 2 < text.size() ? hex_digit(text[at + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[at + 2]) : -1;
    if (low >= 0) {
      out.push_back(static_cast<char>(high * 16 + low));
      at += 2;
    } else {
      out.push_back(text[at]);
    }
  }
  return out;
}

// The content of a value in double quotes, with backslash escapes removed. A value that is not quoted as a whole is
// returned unchanged.
std::string unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '"') { return std::string(text); }
  std::string out;
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '"') { return at + 1 == text.size() ? out : std::string(text); }
    if (text[at] == '\\' && at + 1 < text.size()) { ++at; }
    out.push_back(text[at]);
  }
  return std::string(text);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) { return {}; }
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

Event parse_binary_event(const HttpMessage& message, MissingId missing_id) {
  const std::size_t most = base::part_limit(limits::event_bytes);
  std::size_t bytes = message.body.size();
  EventAttributes attributes;
  std::vector<std::string> seen;
  for (const auto& [header, value] : message.headers) {
    const std::string name = base::lower(header);
    const bool is_type = name == "content-type";
    if (!is_type && !name.starts_with(prefix)) { continue; }
    bytes += name.size() + value.size();
    if (bytes > most) { throw PayloadTooLarge("event", bytes, most); }
    const std::string attribute = is_type ? "datacontenttype" : name.substr(prefix.size());
    if (std::find(seen.begin(), seen.end(), attribute) != seen.end()) {
      if (attribute == "traceparent" || attribute == "tracestate") { continue; }
      throw InvalidArgument(base::echo(attribute), "is given twice; expected one header");
    }
    seen.push_back(attribute);
    if (attribute == "data" || attribute == "data_base64") {
      throw InvalidArgument(attribute, "is a header; expected the data as the body");
    }
    const std::string_view text = trimmed(value);
    attributes.set_text(attribute, is_type ? std::string(text) : percent_decoded(unquoted(text)));
  }
  if (bytes > most) { throw PayloadTooLarge("event", bytes, most); }
  attributes.set_body(message.body);
  return attributes.finish(missing_id);
}

}  // namespace hapax::schedule
