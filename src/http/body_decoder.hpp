// BodyDecoder: extracts a request's body from the bytes after its head, by length or by chunks.
//
// Pure: the caller feeds it bytes, and it returns the content among them. Throws HttpError 400, which closes the
// connection, for malformed chunks.
#pragma once

#include "http/head.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hapax::http {

class BodyDecoder {
 public:
  explicit BodyDecoder(Framing framing);

  struct Piece {
    std::string_view content;  // within the fed bytes; may be empty
    std::size_t used = 0;      // bytes that were used; feed the rest again
  };
  // The next run of content. used == 0: more bytes are needed.
  [[nodiscard]] Piece feed(std::string_view bytes);
  [[nodiscard]] bool done() const { return state_ == State::done; }
  // Bytes still to come: of the whole body with a length, of the current chunk otherwise.
  [[nodiscard]] std::uint64_t left() const { return left_; }

 private:
  enum class State : std::uint8_t { content, chunk_size, chunk_end, trailer, done };

  [[nodiscard]] Piece take_size(std::string_view bytes);
  [[nodiscard]] Piece take_chunk_end(std::string_view bytes);
  [[nodiscard]] Piece take_trailer(std::string_view bytes);

  State state_;
  bool chunked_;
  std::uint64_t left_;
  std::size_t trailer_bytes_ = 0;
};

}  // namespace hapax::http
