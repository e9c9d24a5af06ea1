// ServerCall: reads the request's body.
#include "http/limits.hpp"
#include "http/server_call.hpp"

#include <utility>

namespace hapax::http {

namespace {

constexpr std::size_t body_room = 64 << 10;

[[noreturn]] void too_large(std::size_t limit) {
  throw HttpError(413, "PayloadTooLarge", "the body is over " + std::to_string(limit) + " bytes").closing();
}

}  // namespace

std::size_t ServerCall::body_limit() const {
  if (route_ == nullptr) { return limits::http_skipped_body; }
  if (route_->body_limit > 0) { return route_->body_limit; }
  switch (route_->body) {
    case BodyRule::none: return limits::http_skipped_body;
    case BodyRule::ndjson: return limits::http_stream;
    default: return limits::http_body();
  }
}

std::size_t ServerCall::line_limit() const { return route_->line_limit > 0 ? route_->line_limit : limits::http_body(); }

void ServerCall::expect_body() {
  if (framing_.kind == Framing::Kind::length && framing_.length > body_limit()) { too_large(body_limit()); }
  if (std::exchange(continue_, false) && connection_.in().empty()) {
    if (!connection_.send("HTTP/1.1 100 Continue\r\n\r\n")) { throw ClientGone(); }
  }
}

void ServerCall::count_body(std::size_t bytes) {
  bytes_in_ += bytes;
  if (bytes_in_ > body_limit()) { too_large(body_limit()); }
}

// The next run of content, valid until the next call; empty at the end.
std::string_view ServerCall::next_piece() {
  while (!decoder_.done()) {
    const BodyDecoder::Piece piece = decoder_.feed(connection_.in().view());
    connection_.in().consume(piece.used);
    if (!piece.content.empty()) {
      count_body(piece.content.size());
      return piece.content;
    }
    if (piece.used > 0) { continue; }
    switch (connection_.fill(body_room, pace_)) {
      case Io::moved: break;
      case Io::ended: throw HttpError(400, "BadRequest", "the body ended before it was whole").closing();
      case Io::broken: throw ClientGone();
      case Io::late:
        state_.observer.dropped.add();
        throw HttpError(408, "RequestTimeout", "the body came more slowly than 1 KiB/s").closing();
    }
  }
  return {};
}

const std::string& ServerCall::body() {
  if (!body_read_) {
    expect_body();
    // Grows with the bytes that have come, not with the announced length.
    for (std::string_view piece = next_piece(); !piece.empty(); piece = next_piece()) { body_ += piece; }
    body_read_ = true;
  }
  return body_;
}

LineRead ServerCall::next_line(std::string& line) {
  expect_body();
  line.clear();
  bool too_long = false;
  std::size_t looked = rest_at_;
  while (true) {
    const std::size_t end = rest_.find('\n', looked);
    if (end != std::string::npos) {
      too_long = too_long || end - rest_at_ > line_limit();
      if (!too_long) { line.assign(rest_, rest_at_, end - rest_at_); }
      rest_at_ = end + 1;
      if (!line.empty() && line.back() == '\r') { line.pop_back(); }
      return too_long ? LineRead::too_long : LineRead::whole;
    }
    // Of a line over the limit only one fact is kept: that the line has not ended.
    too_long = too_long || rest_.size() - rest_at_ > line_limit();
    rest_.erase(0, too_long ? rest_.size() : rest_at_);
    rest_at_ = 0;
    looked = rest_.size();
    const std::string_view piece = next_piece();
    if (piece.empty()) { break; }
    rest_ += piece;
  }
  // The last line may lack a line end.
  line = std::exchange(rest_, {});
  if (too_long) {
    line.clear();
    return LineRead::too_long;
  }
  return line.empty() ? LineRead::none_left : LineRead::whole;
}

bool ServerCall::can_skip_body() const {
  if (decoder_.done()) { return true; }
  return framing_.kind == Framing::Kind::length && decoder_.left() <= limits::http_skipped_body && !continue_;
}

bool ServerCall::skip_body() {
  try {
    while (!decoder_.done()) {
      const BodyDecoder::Piece piece = decoder_.feed(connection_.in().view());
      connection_.in().consume(piece.used);
      if (piece.used == 0 && connection_.fill(body_room, pace_) != Io::moved) { return false; }
    }
    return true;
  } catch (const HttpError&) { return false; }
}

}  // namespace hapax::http
