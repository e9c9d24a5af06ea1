#include "http/body_decoder.hpp"

#include "http/http_error.hpp"
#include "http/limits.hpp"

#include <algorithm>
#include <string>

namespace hapax::http {

namespace {

// Larger chunks (4 GiB and more) are refused.
constexpr std::size_t size_digits = 8;

[[noreturn]] void refuse(const std::string& message) { throw HttpError(400, "BadRequest", message).closing(); }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') { return c - '0'; }
  if (c >= 'a' && c <= 'f') { return c - 'a' + 10; }
  if (c >= 'A' && c <= 'F') { return c - 'A' + 10; }
  return -1;
}

// The line at the front without its end; not `whole` while its end is missing.
struct Line {
  bool whole = false;
  std::string_view text;
};
Line line_of(std::string_view bytes, std::size_t limit) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) {
    if (bytes.size() > limit) { refuse("a line of the chunked body is over " + std::to_string(limit) + " bytes"); }
    return {};
  }
  if (end == 0 || bytes[end - 1] != '\r') { refuse("a line of the chunked body ends in LF alone; expected CR LF"); }
  if (end > limit) { refuse("a line of the chunked body is over " + std::to_string(limit) + " bytes"); }
  return {.whole = true, .text = bytes.substr(0, end - 1)};
}

std::uint64_t chunk_size(std::string_view line) {
  std::size_t digits = 0;
  std::uint64_t size = 0;
  while (digits < line.size() && hex_digit(line[digits]) >= 0) {
    if (digits == size_digits && size > 0) { refuse("a chunk's size is too large"); }
    size = size * 16 + static_cast<std::uint64_t>(hex_digit(line[digits]));
    if (++digits > 2 * size_digits) { refuse("a chunk's size has too many digits"); }
  }
  if (digits == 0) { refuse("a chunk's size is not a hexadecimal number"); }
  if (size > UINT32_MAX) { refuse("a chunk's size is too large"); }
  // Chunk extensions are allowed and ignored.
  if (digits < line.size() && line[digits] != ';') { refuse("a chunk's size is not a hexadecimal number"); }
  for (const char c : line.substr(digits)) {
    if ((static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f) {
      refuse("a chunk's extension has a control character");
    }
  }
  return size;
}

}  // namespace

BodyDecoder::BodyDecoder(Framing framing)
    : state_(framing.kind == Framing::Kind::none      ? State::done
             : framing.kind == Framing::Kind::chunked ? State::chunk_size
                                                      : State::content),
      chunked_(framing.kind == Framing::Kind::chunked),
      left_(framing.kind == Framing::Kind::length ? framing.length : 0) {}

BodyDecoder::Piece BodyDecoder::feed(std::string_view bytes) {
  switch (state_) {
    case State::content: {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
      left_ -= size;
      if (left_ == 0) { state_ = chunked_ ? State::chunk_end : State::done; }
      return {.content = bytes.substr(0, size), .used = size};
    }
    case State::chunk_size: return take_size(bytes);
    case State::chunk_end: return take_chunk_end(bytes);
    case State::trailer: return take_trailer(bytes);
    case State::done: break;
  }
  return {};
}

BodyDecoder::Piece BodyDecoder::take_size(std::string_view bytes) {
  const Line line = line_of(bytes, limits::http_chunk_line);
  if (!line.whole) { return {}; }
  left_ = chunk_size(line.text);
  state_ = left_ == 0 ? State::trailer : State::content;
  return {.content = {}, .used = line.text.size() + 2};
}

BodyDecoder::Piece BodyDecoder::take_chunk_end(std::string_view bytes) {
  if (!bytes.empty() && (bytes[0] != '\r' || (bytes.size() > 1 && bytes[1] != '\n'))) {
    refuse("a chunk is longer than its size says");
  }
  if (bytes.size() < 2) { return {}; }
  state_ = State::chunk_size;
  return {.content = {}, .used = 2};
}

BodyDecoder::Piece BodyDecoder::take_trailer(std::string_view bytes) {
  const Line line = line_of(bytes, limits::http_trailer_bytes);
  if (!line.whole) { return {}; }
  trailer_bytes_ += line.text.size() + 2;
  if (trailer_bytes_ > limits::http_trailer_bytes) { refuse("the trailers of the chunked body are too long"); }
  if (line.text.empty()) { state_ = State::done; }
  return {.content = {}, .used = line.text.size() + 2};
}

}  // namespace hapax::http
