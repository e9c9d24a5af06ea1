// Exchange: reads the request's body and sends the answer.
#include "http/exchange.hpp"

#include <hapax/error.hpp>

#include "http/header_values.hpp"
#include "http/limits.hpp"
#include "http/status_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace hapax::http {

namespace {

constexpr std::size_t body_room = 64 << 10;

[[noreturn]] void too_large(std::size_t limit) {
  throw HttpError(413, "PayloadTooLarge", "the body is over " + std::to_string(limit) + " bytes").closing();
}

// For these statuses a client reads no body.
bool has_body(const Response& response) { return response.status != 204 && response.status != 304; }

}  // namespace

std::size_t Exchange::body_limit() const {
  if (route_ == nullptr) { return limits::http_passed_over; }
  if (route_->body_limit > 0) { return route_->body_limit; }
  switch (route_->body) {
    case BodyRule::none: return limits::http_passed_over;
    case BodyRule::ndjson: return limits::http_stream;
    default: return limits::http_body();
  }
}

std::size_t Exchange::line_limit() const { return route_->line_limit > 0 ? route_->line_limit : limits::http_body(); }

void Exchange::expect_body() {
  if (framing_.kind == Framing::Kind::length && framing_.length > body_limit()) { too_large(body_limit()); }
  if (std::exchange(continue_, false) && connection_.in().empty()) {
    if (!connection_.send("HTTP/1.1 100 Continue\r\n\r\n")) { throw ClientGone(); }
  }
}

void Exchange::count_body(std::size_t bytes) {
  bytes_in_ += bytes;
  if (bytes_in_ > body_limit()) { too_large(body_limit()); }
}

// The next run of content, valid until the next call; empty at the end.
std::string_view Exchange::next_piece() {
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

const std::string& Exchange::body() {
  if (!body_read_) {
    expect_body();
    // Grows with the bytes that have come, not with the announced length.
    for (std::string_view piece = next_piece(); !piece.empty(); piece = next_piece()) { body_ += piece; }
    body_read_ = true;
  }
  return body_;
}

LineRead Exchange::next_line(std::string& line) {
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
    // Nothing of a line over the limit is kept, except that the line has not ended.
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

bool Exchange::body_can_be_passed_over() const {
  if (decoder_.done()) { return true; }
  return framing_.kind == Framing::Kind::length && decoder_.left() <= limits::http_passed_over && !continue_;
}

bool Exchange::pass_over_body() {
  try {
    while (!decoder_.done()) {
      const BodyDecoder::Piece piece = decoder_.feed(connection_.in().view());
      connection_.in().consume(piece.used);
      if (piece.used == 0 && connection_.fill(body_room, pace_) != Io::moved) { return false; }
    }
    return true;
  } catch (const HttpError&) { return false; }
}

// ---- The answer ----------------------------------------------------------------------------------------------------

void Exchange::begin_stream(Response head) {
  if (std::exchange(streaming_, true)) { throw UsageError("the stream has begun already"); }
  stream_status_ = head.status;
  chunked_ = request_->version_minor > 0;
  if (!chunked_ || draining()) { keep_ = false; }
  std::string out;
  append_head(out, head, true);
  if (!connection_.send(out)) { broken_ = true; }
  bytes_out_ += out.size();
  if (!head.body.empty()) { (void)write(head.body); }
}

bool Exchange::write(std::string_view piece) {
  if (!streaming_) { throw UsageError("the stream has not begun"); }
  if (broken_ || request_->method == "HEAD") { return false; }
  if (piece.empty()) { return true; }
  bool sent = false;
  if (chunked_) {
    std::string out;
    out.reserve(piece.size() + 20);
    std::array<char, 18> size{};
    const auto [end, error] = std::to_chars(size.data(), size.data() + size.size(), piece.size(), 16);
    out.append(size.data(), end).append("\r\n").append(piece).append("\r\n");
    sent = connection_.send(out);
  } else {
    sent = connection_.send(piece);
  }
  if (!sent) { broken_ = true; }
  bytes_out_ += piece.size();
  return sent;
}

bool Exchange::finish(const Response& response) {
  if (broken_) { return false; }
  if (streaming_) {
    if (chunked_ && request_->method != "HEAD" && !connection_.send("0\r\n\r\n")) { return false; }
    return keep_ && body_can_be_passed_over() && pass_over_body();
  }
  if (!head_read_ || !body_can_be_passed_over() || draining()) { keep_ = false; }
  std::string out;
  out.reserve(320 + response.body.size());
  append_head(out, response, false);
  if (request_->method != "HEAD" && has_body(response)) { out += response.body; }
  bytes_out_ += out.size();
  // The network accepts an answer even if the client has left, so an answer with claims is sent only after a check.
  if ((response.on_unsent && connection_.client_gone()) || !connection_.send(out)) {
    broken_ = true;
    return false;
  }
  return keep_ && pass_over_body();
}

void Exchange::append_head(std::string& out, const Response& response, bool streaming) {
  append_status_line(out, response.status);
  if (streaming) {
    out.append("Content-Type: ").append(response.content_type).append("\r\n");
    if (chunked_) { out += "Transfer-Encoding: chunked\r\n"; }
  } else if (has_body(response)) {
    if (!response.body.empty()) { out.append("Content-Type: ").append(response.content_type).append("\r\n"); }
    out.append("Content-Length: ").append(std::to_string(response.body.size())).append("\r\n");
  }
  bool caching_said = false;
  for (const auto& [name, value] : response.headers) {
    caching_said = caching_said || same_ignoring_case(name, "cache-control");
    out.append(name).append(": ");
    const std::size_t at = out.size();
    out.append(value).append("\r\n");
    // A value that came from outside must not begin another header.
    std::replace_if(
        out.begin() + static_cast<std::ptrdiff_t>(at), out.end() - 2,
        [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, ' ');
  }
  if (!caching_said) { out += "Cache-Control: no-store\r\n"; }
  out.append("X-Content-Type-Options: nosniff\r\nDate: ").append(connection_.loop().date()).append("\r\n");
  if (!keep_) {
    out += "Connection: close\r\n";
  } else if (request_->version_minor == 0) {
    out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
}

}  // namespace hapax::http
