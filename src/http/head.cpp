#include "http/head.hpp"

#include "http/http_error.hpp"
#include "http/limits.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.hpp"

namespace hapax::http {

namespace {

constexpr std::size_t method_bytes = 32;
// "METHOD target HTTP/1.1" and its line end.
constexpr std::size_t request_line_bytes = method_bytes + limits::http_target_bytes + 12;

[[noreturn]] void head_refuse(const std::string& message) { throw HttpError(400, "BadRequest", message).closing(); }

constexpr std::array<bool, 256> make_token_characters() {
  std::array<bool, 256> table{};
  for (const char c :
       std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}
constexpr std::array<bool, 256> token_characters = make_token_characters();

bool is_token(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return token_characters[static_cast<unsigned char>(c)]; });
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int head_hex_digit(char c) {
  if (c >= '0' && c <= '9') { return c - '0'; }
  if (c >= 'a' && c <= 'f') { return c - 'a' + 10; }
  if (c >= 'A' && c <= 'F') { return c - 'A' + 10; }
  return -1;
}

std::string percent_decoded(std::string_view text, bool plus_is_space) {
  if (text.find('%') == std::string_view::npos && (!plus_is_space || text.find('+') == std::string_view::npos)) {
    return std::string(text);
  }
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const int high = i + 2 < text.size() ? head_hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? head_hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        throw HttpError(400, "BadRequest", "the target has a % that two hexadecimal digits do not follow");
      }
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

void split_path(Request& request) {
  request.segments.clear();
  if (request.path == "/" || request.path == "*") { return; }
  std::string_view rest = request.path.substr(1);
  while (true) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    request.segments.push_back(percent_decoded(rest.substr(0, end), false));
    if (end == rest.size()) { return; }
    rest.remove_prefix(end + 1);
  }
}

void split_query(Request& request, std::string_view text) {
  request.query.clear();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    if (!pair.empty()) {
      const std::size_t equals = std::min(pair.find('='), pair.size());
      request.query.emplace_back(percent_decoded(pair.substr(0, equals), true),
                                 equals < pair.size() ? percent_decoded(pair.substr(equals + 1), true) : std::string());
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Fills in the path, the segments and the query from a target without scheme and authority.
void split_local(Request& request, std::string_view local) {
  const std::size_t question = std::min(local.find('?'), local.size());
  request.path = local.substr(0, question);
  if (request.path.empty()) { request.path = "/"; }
  split_path(request);
  split_query(request, question < local.size() ? local.substr(question + 1) : std::string_view());
}

// Where the path of an absolute target (http://host/path) begins.
std::size_t authority_end(std::string_view target) {
  const std::size_t scheme = target.find("://");
  if (scheme == std::string_view::npos || scheme > 5) { return 0; }
  return std::min(target.find_first_of("/?", scheme + 3), target.size());
}

bool is_absolute(std::string_view target) {
  return (target.size() > 7 && same_ignoring_case(target.substr(0, 7), "http://")) ||
         (target.size() > 8 && same_ignoring_case(target.substr(0, 8), "https://"));
}

// RFC 9110, 7.2: uri-host [ ":" port ]. An empty value means that the target has no authority.
bool is_host(std::string_view value) {
  if (value.starts_with('[')) {
    const std::size_t end = value.find(']');
    if (end == std::string_view::npos || end == 1) { return false; }
    const std::string_view address = value.substr(1, end - 1);
    if (!std::all_of(address.begin(), address.end(),
                     [](char c) { return head_hex_digit(c) >= 0 || c == ':' || c == '.' || c == 'v' || c == 'V'; })) {
      return false;
    }
    value.remove_prefix(end + 1);
    if (!value.empty() && value.front() != ':') { return false; }
  }
  const std::size_t colon = std::min(value.find(':'), value.size());
  for (std::size_t i = 0; i < colon; ++i) {
    const char c = value[i];
    const bool letter = is_digit(c) || (base::lower(c) >= 'a' && base::lower(c) <= 'z');
    const bool escape =
        c == '%' && i + 2 < colon && head_hex_digit(value[i + 1]) >= 0 && head_hex_digit(value[i + 2]) >= 0;
    if (!letter && !escape && std::string_view("-._~!$&'()*+,;=").find(c) == std::string_view::npos) { return false; }
  }
  const std::string_view port = value.substr(std::min(colon + 1, value.size()));
  return std::all_of(port.begin(), port.end(), is_digit);
}

void parse_target(Request& request) {
  const std::string_view target = request.target;
  if (target.size() > limits::http_target_bytes) {
    throw HttpError(414, "TargetTooLong",
                    "the target has " + std::to_string(target.size()) + " bytes, the limit is " +
                        std::to_string(limits::http_target_bytes))
        .closing();
  }
  if (!std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c < 0x7f && c != '#'; })) {
    head_refuse("the target has characters that must be percent-encoded");
  }
  std::string_view local = target;
  if (is_absolute(target)) {
    local = target.substr(authority_end(target));
  } else if (target == "*") {
    if (request.method != "OPTIONS") { head_refuse("the target * is for OPTIONS only"); }
  } else if (target.front() != '/') {
    head_refuse("the target must begin with /");
  }
  split_local(request, local);
}

void parse_request_line(Request& request, std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    head_refuse("the first line must be: METHOD target HTTP/1.1");
  }
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(request.method) || request.method.size() > method_bytes) {
    head_refuse("the method is not a valid method name");
  }
  if (request.target.empty()) { head_refuse("the target is empty"); }
  if (version == "HTTP/1.1") {
    request.version_minor = 1;
  } else if (version == "HTTP/1.0") {
    request.version_minor = 0;
  } else if (version.size() == 8 && version.starts_with("HTTP/1.") && is_digit(version.back())) {
    request.version_minor = 1;  // RFC 9110, 2.5: a higher minor version is processed as the highest known one
  } else if (version.size() == 8 && version.substr(0, 5) == "HTTP/") {
    throw HttpError(505, "VersionNotSupported", "expected HTTP/1.1 or HTTP/1.0").closing();
  } else {
    head_refuse("the first line must end in HTTP/1.1");
  }
  parse_target(request);
}

// `at` is the line's position in request.head, where the header's name is put into lower case.
void parse_header(Request& request, std::size_t at, std::size_t length) {
  const std::string_view line = std::string_view(request.head).substr(at, length);
  if (line.front() == ' ' || line.front() == '\t') { head_refuse("a header is folded over two lines"); }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) { head_refuse("a header has no colon"); }
  if (colon > 0 && (line[colon - 1] == ' ' || line[colon - 1] == '\t')) {
    head_refuse("a header has a space before its colon");
  }
  if (!is_token(line.substr(0, colon))) { head_refuse("a header's name has invalid characters"); }
  std::transform(request.head.begin() + static_cast<std::ptrdiff_t>(at),
                 request.head.begin() + static_cast<std::ptrdiff_t>(at + colon),
                 request.head.begin() + static_cast<std::ptrdiff_t>(at), [](char c) { return base::lower(c); });
  const std::string_view value = base::trimmed(line.substr(colon + 1));
  for (const char c : value) {
    if ((static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f) {
      head_refuse("a header's value has a control character");
    }
  }
  request.headers.push_back({.name = line.substr(0, colon), .value = value});
}

}  // namespace

bool same_ignoring_case(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char one, char other) { return base::lower(one) == base::lower(other); });
}

std::optional<std::size_t> HeadScanner::scan(std::string_view bytes) {
  if (scanned_ == 0 && !bytes.empty() && !token_characters[static_cast<unsigned char>(bytes.front())]) {
    head_refuse("this is not the beginning of a request over HTTP/1.1");
  }
  while (scanned_ < bytes.size()) {
    const void* const found = std::memchr(bytes.data() + scanned_, '\n', bytes.size() - scanned_);
    if (found == nullptr) {
      scanned_ = bytes.size();
      break;
    }
    const auto end = static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
    if (end == 0 || bytes[end - 1] != '\r') { head_refuse("a line ends in LF alone; expected CR LF"); }
    scanned_ = end + 1;
    if (lines_ == 0) {
      if (scanned_ > request_line_bytes) { break; }
      // Another protocol's greeting may be this line alone; its client would wait for the server while the server waits
      // for it.
      if (bytes.substr(0, end).find(" HTTP/") == std::string_view::npos) {
        head_refuse("the first line must be: METHOD target HTTP/1.1");
      }
      request_line_ = scanned_;
    } else if (scanned_ - request_line_ > limits::http_header_bytes) {
      break;
    } else if (end == line_ + 1) {
      return scanned_;
    } else if (lines_ > limits::http_headers) {
      throw HttpError(431, "HeadersTooLarge", "more than " + std::to_string(limits::http_headers) + " headers")
          .closing();
    }
    line_ = scanned_;
    ++lines_;
  }
  if (lines_ == 0 && scanned_ > request_line_bytes) {
    throw HttpError(414, "TargetTooLong", "the target is over " + std::to_string(limits::http_target_bytes) + " bytes")
        .closing();
  }
  if (lines_ > 0 && scanned_ - request_line_ > limits::http_header_bytes) {
    throw HttpError(431, "HeadersTooLarge", "over " + std::to_string(limits::http_header_bytes) + " bytes of headers")
        .closing();
  }
  return std::nullopt;
}

void split_target(Request& request) { split_local(request, request.target); }

void parse_head(Request& request) {
  request.headers.clear();
  const std::string_view head = request.head;
  std::size_t end = head.find("\r\n");
  if (end == std::string_view::npos) { head_refuse("the head is not complete"); }
  if (head.substr(0, end).find('\r') != std::string_view::npos) { head_refuse("a CR stands alone"); }
  parse_request_line(request, head.substr(0, end));
  for (std::size_t at = end + 2; at < head.size(); at = end + 2) {
    end = std::min(head.find("\r\n", at), head.size());
    if (end == at) { break; }
    parse_header(request, at, end - at);
  }
  const auto hosts =
      std::count_if(request.headers.begin(), request.headers.end(), [](const Header& h) { return h.name == "host"; });
  if (hosts > 1) { head_refuse("there are two Host headers"); }
  if (hosts == 0 && request.version_minor > 0) { head_refuse("there is no Host header"); }
  if (hosts == 1 && !is_host(*request.header("host"))) {
    head_refuse("Host is not a name or an address; expected one such as queue.example.org:7171");
  }
}

Framing framing_of(const Request& request) {
  Framing framing;
  int lengths = 0;
  int encodings = 0;
  for (const Header& header : request.headers) {
    if (header.name == "content-length") {
      ++lengths;
      if (header.value.empty() ||
          !std::all_of(header.value.begin(), header.value.end(), [](char c) { return c >= '0' && c <= '9'; })) {
        head_refuse("Content-Length is not a number");
      }
      for (const char c : header.value) {
        framing.length = framing.length > (UINT64_MAX >> 8) ? UINT64_MAX >> 4
                                                            : framing.length * 10 + static_cast<std::uint64_t>(c - '0');
      }
      framing.kind = Framing::Kind::length;
    } else if (header.name == "transfer-encoding") {
      ++encodings;
      if (!same_ignoring_case(header.value, "chunked")) {
        throw HttpError(501, "NotImplemented", "Transfer-Encoding: expected chunked alone").closing();
      }
      framing.kind = Framing::Kind::chunked;
    }
  }
  if (lengths > 1) { head_refuse("there are two Content-Length headers"); }
  if (encodings > 1) { head_refuse("there are two Transfer-Encoding headers"); }
  if (lengths > 0 && encodings > 0) { head_refuse("there are both Content-Length and Transfer-Encoding"); }
  if (encodings > 0 && request.version_minor == 0) { head_refuse("HTTP/1.0 has no Transfer-Encoding"); }
  if (framing.kind == Framing::Kind::length && framing.length == 0) { framing.kind = Framing::Kind::none; }
  return framing;
}

std::string host_of(const Request& request) {
  std::string_view authority = request.header("host").value_or("");
  if (is_absolute(request.target)) {
    const std::size_t from = request.target.find("://") + 3;
    authority = request.target.substr(from, authority_end(request.target) - from);
  }
  const std::size_t bracket = authority.find(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string host(authority.substr(0, colon));
  std::transform(host.begin(), host.end(), host.begin(), [](char c) { return base::lower(c); });
  return host;
}

bool has_token(const Request& request, std::string_view header, std::string_view token) {
  for (const Header& each : request.headers) {
    if (each.name != header) { continue; }
    std::string_view rest = each.value;
    while (true) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      if (same_ignoring_case(base::trimmed(rest.substr(0, comma)), token)) { return true; }
      if (comma == rest.size()) { break; }
      rest.remove_prefix(comma + 1);
    }
  }
  return false;
}

std::optional<std::string_view> Request::header(std::string_view name) const {
  for (const Header& each : headers) {
    if (each.name == name) { return each.value; }
  }
  return std::nullopt;
}

std::vector<std::string_view> Request::header_values(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const Header& each : headers) {
    if (each.name == name) { values.push_back(each.value); }
  }
  return values;
}

std::optional<std::string> Request::parameter(std::string_view name) const {
  std::optional<std::string> found;
  for (const auto& [each, value] : query) {
    if (each != name) { continue; }
    if (found) { throw InvalidArgument(std::string(name), "is in the query twice; expected it once"); }
    found = value;
  }
  return found;
}

}  // namespace hapax::http
