#include "http/exchange.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"
#include "http/header_values.hpp"
#include "http/limits.hpp"
#include "http/status_line.hpp"
#include "model/trace_context.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace hapax::http {

namespace {

// Bytes per read while the head is not complete: at most this much of the body is read along with it.
constexpr std::size_t head_room = 4 << 10;
constexpr std::size_t body_room = 64 << 10;
constexpr std::size_t kept_buffer = 16 << 10;
// A connection over the limit has only this long to send its head, and serves one request.
constexpr std::chrono::seconds over_limit_time{2};

bool is_safe(std::string_view method) { return method == "GET" || method == "HEAD" || method == "OPTIONS"; }

// For these statuses a client reads no body.
bool has_body(const Response& response) { return response.status != 204 && response.status != 304; }

}  // namespace

Exchange::Exchange(Connection& connection) : connection_(connection), state_(connection.state()) {
  request_ = &connection.request();
}

bool Exchange::run() {
  Response response;
  try {
    if (!read_head()) { return false; }
    response = dispatch();
    error_ = response.error;
  } catch (const ClientGone&) { broken_ = true; } catch (...) {
    ProblemAnswer answer = problem_answer(std::current_exception(), let_in_ && principal_.admin);
    response = std::move(answer.response);
    error_ = std::move(answer.name);
    if (answer.closes) { keep_ = false; }
    if (!answer.defect.empty()) { state_.observer.tell_defect(route_, answer.defect); }
    // The head with its status has been sent: cutting the stream off is the only way to report the error.
    if (streaming_) { broken_ = true; }
  }
  const bool more = finish(response);
  if (broken_ && response.on_unsent) { take_back(response); }
  tell(streaming_ ? stream_status_ : broken_ ? 499 : response.status);
  return more;
}

void Exchange::take_back(const Response& response) {
  try {
    response.on_unsent();
  } catch (const std::exception& error) {
    // The client is gone; claims that were handed out come back when their lease expires.
    state_.observer.tell_defect(route_, error.what());
  }
}

bool Exchange::read_head() {
  InBuffer& in = connection_.in();
  in.shrink(kept_buffer);
  Request& request = connection_.request();
  request.method = {};
  request.version_minor = 1;
  const bool first = request.head.empty();
  // One empty line before a request is ignored.
  bool forgiven = false;
  HeadScanner scanner;
  begun_ = Clock::now();
  const auto deadline_after = [&](Duration time) {
    return begun_ + (connection_.door().over_limit ? std::min<Duration>(time, over_limit_time) : time);
  };
  Clock::time_point deadline = deadline_after(first ? state_.options.header_time : state_.options.idle_time);
  bool begun = first || !in.empty();
  if (begun) { deadline = deadline_after(state_.options.header_time); }
  while (true) {
    std::string_view bytes = in.view();
    if (!forgiven && bytes.starts_with("\r\n")) {
      in.consume(2);
      forgiven = true;
      continue;
    }
    if (!bytes.empty() && (forgiven || bytes != "\r")) {
      if (const auto length = scanner.scan(bytes)) {
        request.head.assign(bytes.substr(0, *length));
        in.consume(*length);
        break;
      }
    }
    connection_.set_idle(in.empty());
    if (in.empty() && connection_.draining()) { return false; }
    const Io io = connection_.fill(head_room, deadline);
    connection_.set_idle(false);
    if (io == Io::moved) {
      if (!begun) {
        begun = true;
        begun_ = Clock::now();
        deadline = deadline_after(state_.options.header_time);
      }
      continue;
    }
    if (io == Io::late && begun) {
      state_.observer.dropped.add();
      throw HttpError(408, "RequestTimeout", "the head of the request did not come in time").closing();
    }
    return false;
  }
  parse_head(request);
  head_read_ = true;
  framing_ = framing_of(request);
  decoder_ = BodyDecoder(framing_);
  keep_ = request.version_minor > 0 ? !has_token(request, "connection", "close")
                                    : has_token(request, "connection", "keep-alive");
  return true;
}

Response Exchange::dispatch() {
  const Request& request = *request_;
  if (connection_.door().over_limit) {
    throw HttpError(503, "TooManyConnections", "the server has as many connections as it takes; try again")
        .with("Retry-After", "1")
        .closing();
  }
  check_host();
  if (const auto expect = request.header("expect"); expect && request.version_minor > 0) {
    if (!same_ignoring_case(*expect, "100-continue")) {
      throw HttpError(417, "ExpectationFailed", "Expect: only 100-continue is known");
    }
    continue_ = framing_.kind != Framing::Kind::none;
  }
  if (std::any_of(request.segments.begin(), request.segments.end(),
                  [](const std::string& segment) { return segment == "." || segment == ".."; })) {
    throw NotFound("there is nothing at this path");
  }
  if (request.method == "OPTIONS") { return options(); }
  Router::Match match = state_.router.find(request.method, request.segments);
  route_ = match.route;
  parameters_ = std::move(match.parameters);
  check_origin();
  if (route_->scope != Scope::none) {
    principal_ = ask_who();
    let_in_ = true;
    check_scope(principal_);
  }
  check_key();
  check_body();
  // A request with several traceparent headers has none (W3C Trace Context, 3.2.2), as it is unclear which one counts.
  if (const auto traces = request.header_values("traceparent"); traces.size() == 1) {
    traceparent_ = model::accepted_traceparent(traces.front());
  }
  return route_->handler(*this);
}

Principal Exchange::ask_who() {
  std::optional<Principal> known = state_.authenticator->recall(*request_);
  return known ? *std::move(known) : blocking([&] { return state_.authenticator->authenticate(*request_); });
}

void Exchange::check_scope(const Principal& principal) const {
  if (!principal.may(route_->scope)) {
    throw Forbidden("this needs a token with the scope '" + std::string(to_string(route_->scope)) + "'");
  }
}

void Exchange::check_still_let_in() {
  if (route_->scope == Scope::none) { return; }
  const Principal now = ask_who();
  check_scope(now);
  if (now.ns != principal_.ns || now.read != principal_.read) {
    throw Forbidden("the token is not what it was when the call began");
  }
}

Response Exchange::options() const {
  const bool whole_server = request_->target == "*";
  const std::string allowed =
      whole_server ? "GET, HEAD, POST, PUT, DELETE, OPTIONS" : state_.router.allowed(request_->segments);
  if (allowed.empty()) { throw NotFound("there is nothing at this path"); }
  Response response{.status = 204};
  response.headers.emplace_back("Allow", allowed);
  return response;
}

void Exchange::check_host() const {
  if (!connection_.door().loopback) { return; }
  const std::string host = host_of(*request_);
  if (host.empty() && request_->version_minor == 0) { return; }
  if (is_loopback_host(host)) { return; }
  for (const std::string& ours : state_.options.hosts) {
    if (same_ignoring_case(host, ours)) { return; }
  }
  throw HttpError(421, "MisdirectedRequest",
                  "Host is not a name of this server, which listens on a loopback address; --host names others");
}

// Pages of other sites can send simple requests without their reader's knowledge; such requests may not change
// anything.
void Exchange::check_origin() const {
  if (is_safe(request_->method)) { return; }
  const auto origin = request_->header("origin");
  const auto site = request_->header("sec-fetch-site");
  const bool foreign_site = site && *site != "same-origin" && *site != "none";
  if (foreign_site || (origin && !is_same_origin(*origin, request_->header("host").value_or("")))) {
    throw Forbidden("a page of another origin may not change anything here");
  }
}

// A client that sends a key expects its second request to find the first. A route that would run twice refuses the key.
void Exchange::check_key() const {
  const auto key = request_->header("idempotency-key");
  if (!key || route_->takes_key) { return; }
  throw InvalidArgument("Idempotency-Key", base::printable(base::keep_head(*key, 60)) +
                                               " came, but this route makes nothing that a key could name; expected no "
                                               "such header (POST /v1/tasks/{task}/executions takes it)");
}

void Exchange::check_body() const {
  if (request_->header("content-encoding")) {
    HttpError error(415, "UnsupportedMediaType", "Content-Encoding: bodies are taken as they are, not compressed");
    throw error.with("Accept-Encoding", "identity");
  }
  if (framing_.kind == Framing::Kind::none) { return; }
  const std::string_view type = request_->header("content-type").value_or("");
  switch (route_->body) {
    case BodyRule::none:
    case BodyRule::any: return;
    case BodyRule::json:
      if (!is_json(type)) { throw UnsupportedMediaType("Content-Type: expected application/json"); }
      return;
    case BodyRule::ndjson:
      if (!is_ndjson(type)) { throw UnsupportedMediaType("Content-Type: expected application/x-ndjson"); }
      return;
  }
}

// ---- The request's body --------------------------------------------------------------------------------------------

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

namespace {

[[noreturn]] void too_large(std::size_t limit) {
  throw HttpError(413, "PayloadTooLarge", "the body is over " + std::to_string(limit) + " bytes").closing();
}

}  // namespace

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

// ---- Waiting -------------------------------------------------------------------------------------------------------

void Exchange::run_blocking(const std::function<void()>& fn) {
  connection_.suspend([&](std::function<void()> resume) {
    state_.store_threads.run([&fn, resume = std::move(resume)] {
      fn();
      resume();
    });
  });
}

void Exchange::suspend(const std::function<void(std::function<void()>)>& start) { connection_.suspend(start); }

Woke Exchange::wait_on(Signal& signal, Duration at_most) { return connection_.wait(&signal, at_most); }

Woke Exchange::pause(Duration at_most) {
  // A wait of zero cannot notice that the client has left, so the socket is asked.
  if (at_most == Duration::zero() && connection_.client_gone()) { return Woke::client_gone; }
  return connection_.wait(nullptr, at_most);
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

void Exchange::tell(int status) {
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
