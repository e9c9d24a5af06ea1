// BodyDecoder: takes a request's body out of the bytes that follow its head, by length or by chunks.
//
// Pure: it is fed bytes and says what in them is content. Throws HttpError 400, which closes, for chunks that are malformed.
#pragma once

#include "server/head.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hapax::server {

class BodyDecoder {
 public:
  explicit BodyDecoder(Framing framing);

  struct Piece {
    std::string_view content;  // within what was fed; may be empty
    std::size_t used = 0;      // bytes that were taken; what is left belongs to the next feed
  };
  // The next run of content. Nothing used: it needs more bytes than these.
  [[nodiscard]] Piece feed(std::string_view bytes);
  [[nodiscard]] bool done() const { return state_ == State::done; }
  // Of a body by length: what is still to come. Of chunks: what is left of this one.
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

}  // namespace hapax::server
