// The head of a request: where it ends, what it says, and how long the body after it is.
//
// Pure functions over bytes. Stricter than RFC 9112 asks a server to be: whatever two readers of one message might take
// apart differently is refused, as that is what request smuggling lives on. All throw HttpError, which closes.
#pragma once

#include "server/request.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hapax::server {

// Finds the end of a head in bytes that arrive piece by piece. One for each head; looks at each byte once.
class HeadScanner {
 public:
  // `bytes` is everything from the head's first byte on. The head's length with its empty line, or nothing: more is
  // needed. Throws as soon as what is there cannot become good: 400, 414, 431.
  [[nodiscard]] std::optional<std::size_t> scan(std::string_view bytes);

 private:
  std::size_t looked_ = 0;
  std::size_t line_ = 0;          // where the present line begins
  std::size_t lines_ = 0;         // that ended
  std::size_t request_line_ = 0;  // its length, with its end
};

// Takes the head apart that is in request.head, and fills in everything but the peer.
void parse_head(Request& request);

struct Framing {
  enum class Kind : std::uint8_t { none, length, chunked };
  Kind kind = Kind::none;
  std::uint64_t length = 0;  // saturates: it is compared with limits, nothing else
};
// By Content-Length and Transfer-Encoding: 400 for both, or two of one; 501 for an encoding that is not known.
[[nodiscard]] Framing framing_of(const Request& request);

// The host of Host or of an absolute target, without its port, in lower case: "localhost", "[::1]". Empty: HTTP/1.0 has none.
[[nodiscard]] std::string host_of(const Request& request);

// Whether a comma-separated header has the token, whatever its case.
[[nodiscard]] bool has_token(const Request& request, std::string_view header, std::string_view token);

[[nodiscard]] bool same_ignoring_case(std::string_view left, std::string_view right);

}  // namespace hapax::server
