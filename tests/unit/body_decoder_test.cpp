#include "http/body_decoder.hpp"

#include "http/http_error.hpp"

#include <gtest/gtest.h>

namespace hapax::http {
namespace {

constexpr Framing chunked{.kind = Framing::Kind::chunked};

struct Decoded {
  std::string content;
  std::size_t used = 0;
  bool done = false;
};

// Decodes `bytes`, of which `piece` more arrive whenever the decoder needs them.
Decoded decode(Framing framing, std::string_view bytes, std::size_t piece) {
  BodyDecoder decoder(framing);
  Decoded decoded;
  std::size_t end = 0;
  while (!decoder.done()) {
    const BodyDecoder::Piece found = decoder.feed(bytes.substr(decoded.used, end - decoded.used));
    decoded.content += found.content;
    decoded.used += found.used;
    if (found.used == 0) {
      if (end == bytes.size()) { break; }
      end = std::min(bytes.size(), end + piece);
    }
  }
  decoded.done = decoder.done();
  return decoded;
}

TEST(BodyDecoder, ByLengthLeavesWhatFollows) {
  for (std::size_t piece = 1; piece < 12; ++piece) {
    const Decoded decoded = decode({.kind = Framing::Kind::length, .length = 5}, "helloGET /", piece);
    EXPECT_EQ(decoded.content, "hello");
    EXPECT_EQ(decoded.used, 5U);
    EXPECT_TRUE(decoded.done);
  }
  EXPECT_FALSE(decode({.kind = Framing::Kind::length, .length = 5}, "hell", 2).done);
  EXPECT_TRUE(BodyDecoder(Framing{}).done());
}

TEST(BodyDecoder, ByChunksLeavesWhatFollows) {
  const std::string bytes = "5\r\nhello\r\n000A;name=\"value\"\r\n, the worl\r\n1\r\nd\r\n0\r\nTrailer: x\r\n\r\nGET /";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    const Decoded decoded = decode(chunked, bytes, piece);
    EXPECT_EQ(decoded.content, "hello, the world");
    EXPECT_EQ(bytes.substr(decoded.used), "GET /");
    EXPECT_TRUE(decoded.done);
  }
}

TEST(BodyDecoder, RefusesChunksThatAreNone) {
  for (const std::string& bytes :
       {std::string("-1\r\n"), std::string("0x1\r\n"), std::string("\r\n"), std::string("g\r\n"), std::string(" 1\r\n"),
        std::string("1 \r\n"), std::string("1\n"), std::string("ffffffffffffffff\r\n"), std::string("100000000\r\n"),
        std::string("00000000000000001\r\n"), std::string("1\r\nab\r\n"), std::string("1\r\na\n"),
        std::string("1\r\na0\r\n"), "1;" + std::string(300, 'x'), std::string("1;\x01\r\n"), std::string("0\r\nx\n"),
        "0\r\n" + std::string(5000, 'x')}) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{10'000}}) {
      EXPECT_THROW((void)decode(chunked, bytes, piece), HttpError) << bytes.substr(0, 40);
    }
  }
}

}  // namespace
}  // namespace hapax::http
