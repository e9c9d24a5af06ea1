// The head of a request: where it ends, how it is parsed, and how long the body after it is.
//
// Pure functions over bytes. Stricter than RFC 9112 requires of a server: a message that two readers might parse
// differently is refused, because request smuggling depends on such messages. All throw HttpError, which closes the
// connection.
#pragma once

#include "http/request.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hapax::http {

// Finds the end of a head in bytes that arrive piece by piece. One scanner per head; reads each byte once.
class HeadScanner {
 public:
  // `bytes` is everything from the head's first byte on. Returns the head's length including its empty line, or none
  // when more bytes are needed. Throws as soon as the bytes cannot become a valid head: 400, 414, 431.
  [[nodiscard]] std::optional<std::size_t> scan(std::string_view bytes);

 private:
  std::size_t scanned_ = 0;
  std::size_t line_ = 0;          // start of the current line
  std::size_t lines_ = 0;         // ended lines
  std::size_t request_line_ = 0;  // length of the request line with its end
};

// Parses the head in request.head and fills in every field but the peer.
void parse_head(Request& request);

// Fills in the path, the segments and the query from request.target, which is a path with a query, of any length.
void split_target(Request& request);

struct Framing {
  enum class Kind : std::uint8_t { none, length, chunked };
  Kind kind = Kind::none;
  std::uint64_t length = 0;  // saturates; only compared with limits
};
// By Content-Length and Transfer-Encoding. 400 for both, or for two of one; 501 for an encoding other than chunked.
[[nodiscard]] Framing framing_of(const Request& request);

// The host of the Host header or an absolute target, in lower case, without its port: "localhost", "[::1]". Empty: an
// HTTP/1.0 request without Host.
[[nodiscard]] std::string host_of(const Request& request);

// Whether a comma-separated header has the token, ignoring case.
[[nodiscard]] bool has_token(const Request& request, std::string_view header, std::string_view token);

[[nodiscard]] bool same_ignoring_case(std::string_view left, std::string_view right);

}  // namespace hapax::http
