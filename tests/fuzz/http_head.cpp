// Any bytes are either a request or refused; the number of pieces in which they arrive does not change the result.
#include "http/body_decoder.hpp"
#include "http/head.hpp"
#include "http/http_error.hpp"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace hapax::http;

void require(bool holds) {
  if (!holds) { std::abort(); }
}

struct Understood {
  bool refused = false;
  std::optional<std::size_t> head;
  std::string body;
  std::size_t used = 0;
  bool whole = false;

  bool operator==(const Understood&) const = default;
};

Understood understand(std::string_view bytes, std::size_t piece) {
  Understood result;
  try {
    HeadScanner scanner;
    std::size_t seen = 0;
    while (!result.head && seen < bytes.size()) {
      seen = std::min(bytes.size(), seen + piece);
      result.head = scanner.scan(bytes.substr(0, seen));
    }
    if (!result.head) { return result; }
    Request request;
    request.head = bytes.substr(0, *result.head);
    parse_head(request);
    require(!request.method.empty() && !request.path.empty());
    for (const Header& header : request.headers) {
      require(!header.name.empty());
      require(header.value.find_first_of("\r\n") == std::string_view::npos);
    }
    (void)host_of(request);
    BodyDecoder decoder(framing_of(request));
    std::size_t at = *result.head;
    std::size_t end = seen;
    while (!decoder.done()) {
      const BodyDecoder::Piece found = decoder.feed(bytes.substr(at, end - at));
      require(found.used <= end - at && found.content.size() <= found.used);
      result.body += found.content;
      at += found.used;
      if (found.used == 0) {
        if (end == bytes.size()) { break; }
        end = std::min(bytes.size(), end + piece);
      }
    }
    result.used = at;
    result.whole = decoder.done();
  } catch (const HttpError& error) {
    require(error.status() >= 400 && error.status() < 600);
    // The bytes consumed before an error, and which of two errors comes first, depend on the pieces.
    result.refused = true;
    result.head.reset();
    result.body.clear();
    result.used = 0;
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Understood whole = understand(bytes, size + 1);
  require(whole == understand(bytes, 1));
  require(whole == understand(bytes, 7));
  return 0;
}
