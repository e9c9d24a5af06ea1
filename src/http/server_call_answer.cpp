// ServerCall: waits while a handler runs, and sends the answer.
#include <hapax/error.hpp>

#include "http/header_values.hpp"
#include "http/limits.hpp"
#include "http/server_call.hpp"
#include "http/status_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace hapax::http {

namespace {

// For these statuses a client reads no body.
bool has_body(const Response& response) { return response.status != 204 && response.status != 304; }

}  // namespace

void ServerCall::run_blocking(const std::function<void()>& fn) {
  connection_.suspend([&](std::function<void()> resume) {
    state_.store_threads.run([&fn, resume = std::move(resume)] {
      fn();
      resume();
    });
  });
}

void ServerCall::suspend(const std::function<void(std::function<void()>)>& start) { connection_.suspend(start); }

Woke ServerCall::wait_on(Signal& signal, Duration at_most) { return connection_.wait(&signal, at_most); }

Woke ServerCall::pause(Duration at_most) {
  // A wait of zero cannot notice that the client has left, so the socket is asked.
  if (at_most == Duration::zero() && connection_.client_gone()) { return Woke::client_gone; }
  return connection_.wait(nullptr, at_most);
}

void ServerCall::begin_stream(Response head) {
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

bool ServerCall::write(std::string_view piece) {
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

bool ServerCall::finish(const Response& response) {
  if (broken_) { return false; }
  if (streaming_) {
    if (chunked_ && request_->method != "HEAD" && !connection_.send("0\r\n\r\n")) { return false; }
    return keep_ && can_skip_body() && skip_body();
  }
  if (!head_read_ || !can_skip_body() || draining()) { keep_ = false; }
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
  return keep_ && skip_body();
}

void ServerCall::append_head(std::string& out, const Response& response, bool streaming) {
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

void ServerCall::tell(int status) {
  state_.observer.tell({.method = head_read_ ? request_->method : std::string_view("none"),
                        .route = route_,
                        .status = status,
                        .took = Clock::now() - begun_,
                        .bytes_in = bytes_in_,
                        .bytes_out = bytes_out_,
                        .peer = request_->peer,
                        .principal = let_in_ ? &principal_ : nullptr,
                        .error = error_,
                        .trace = traceparent_});
}

}  // namespace hapax::http
