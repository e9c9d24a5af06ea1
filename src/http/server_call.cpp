#include "http/server_call.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"
#include "http/header_values.hpp"
#include "http/limits.hpp"
#include "model/traceparent.hpp"

#include <algorithm>

namespace hapax::http {

namespace {

// Bytes per read while the head is not complete: at most this much of the body is read along with it.
constexpr std::size_t head_room = 4 << 10;
constexpr std::size_t kept_buffer = 16 << 10;
// A connection over the limit has only this long to send its head, and serves one request.
constexpr std::chrono::seconds over_limit_time{2};

bool is_safe(std::string_view method) { return method == "GET" || method == "HEAD" || method == "OPTIONS"; }

}  // namespace

const std::string& Call::parameter(std::string_view name) const {
  for (const auto& [each, value] : parameters_) {
    if (each == name) { return *value; }
  }
  throw UsageError("the route has no parameter {" + std::string(name) + "}");
}

ServerCall::ServerCall(Connection& connection) : connection_(connection), state_(connection.state()) {
  request_ = &connection.request();
}

bool ServerCall::run() {
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
    if (!answer.defect.empty()) { state_.observer.record_defect(route_, answer.defect); }
    // The head with its status has been sent: cutting the stream off is the only way to report the error.
    if (streaming_) { broken_ = true; }
  }
  const bool more = finish(response);
  if (broken_ && response.on_unsent) { take_back(response); }
  tell(streaming_ ? stream_status_ : broken_ ? 499 : response.status);
  return more;
}

void ServerCall::take_back(const Response& response) {
  try {
    response.on_unsent();
  } catch (const std::exception& error) {
    // The client is gone; claims that were handed out come back when their lease expires.
    state_.observer.record_defect(route_, error.what());
  }
}

bool ServerCall::read_head() {
  InBuffer& in = connection_.in();
  in.shrink(kept_buffer);
  Request& request = connection_.request();
  request.method = {};
  request.version_minor = 1;
  const bool first = request.head.empty();
  // One empty line before a request is ignored.
  bool skipped_empty_line = false;
  HeadScanner scanner;
  begun_ = Clock::now();
  const auto deadline_after = [&](Duration time) {
    return begun_ + (connection_.accepted_from().over_limit ? std::min<Duration>(time, over_limit_time) : time);
  };
  Clock::time_point deadline = deadline_after(first ? state_.options.header_time : state_.options.idle_time);
  bool begun = first || !in.empty();
  if (begun) { deadline = deadline_after(state_.options.header_time); }
  while (true) {
    std::string_view bytes = in.view();
    if (!skipped_empty_line && bytes.starts_with("\r\n")) {
      in.consume(2);
      skipped_empty_line = true;
      continue;
    }
    if (!bytes.empty() && (skipped_empty_line || bytes != "\r")) {
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

Response ServerCall::dispatch() {
  const Request& request = *request_;
  if (connection_.accepted_from().over_limit) {
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
    principal_ = authenticate();
    let_in_ = true;
    check_scope(principal_);
  }
  check_key();
  check_body();
  // A request with several traceparent headers has none (W3C Trace Context, 3.2.2), as it is unclear which one counts.
  if (const auto traces = request.header_values("traceparent"); traces.size() == 1) {
    model::Labels labels;
    // Several tracestate headers are one list (W3C Trace Context, 3.3).
    std::string states;
    for (const std::string_view state : request.header_values("tracestate")) {
      states.append(states.empty() ? "" : ",").append(state);
    }
    model::set_trace(labels, traces.front(), states);
    traceparent_ = std::move(labels.traceparent);
    tracestate_ = std::move(labels.tracestate);
  }
  return route_->handler(*this);
}

Principal ServerCall::authenticate() {
  std::optional<Principal> known = state_.authenticator->recall(*request_);
  return known ? *std::move(known) : blocking([&] { return state_.authenticator->authenticate(*request_); });
}

void ServerCall::check_scope(const Principal& principal) const {
  if (!principal.may(route_->scope)) {
    throw Forbidden("this needs a token with the scope '" + std::string(to_string(route_->scope)) + "'");
  }
}

void ServerCall::recheck_access() {
  if (route_->scope == Scope::none) { return; }
  const Principal now = authenticate();
  check_scope(now);
  if (now.namespace_name != principal_.namespace_name || now.read != principal_.read) {
    throw Forbidden("the token was changed during the call: it has another namespace or other scopes");
  }
}

Response ServerCall::options() const {
  const bool whole_server = request_->target == "*";
  const std::string allowed =
      whole_server ? "GET, HEAD, POST, PUT, DELETE, OPTIONS" : state_.router.allowed(request_->segments);
  if (allowed.empty()) { throw NotFound("there is nothing at this path"); }
  Response response{.status = 204};
  response.headers.emplace_back("Allow", allowed);
  return response;
}

void ServerCall::check_host() const {
  if (!connection_.accepted_from().loopback) { return; }
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
void ServerCall::check_origin() const {
  if (is_safe(request_->method)) { return; }
  const auto origin = request_->header("origin");
  const auto site = request_->header("sec-fetch-site");
  const bool foreign_site = site && *site != "same-origin" && *site != "none";
  if (foreign_site || (origin && !is_same_origin(*origin, request_->header("host").value_or("")))) {
    throw Forbidden("a page of another origin may not change anything here");
  }
}

// A client that sends a key expects its second request to find the first execution. A route that cannot promise this
// refuses the key.
void ServerCall::check_key() const {
  const auto key = request_->header("idempotency-key");
  if (!key || route_->takes_key) { return; }
  throw InvalidArgument("Idempotency-Key", base::printable(base::keep_head(*key, 60)) +
                                               " came, but this route makes nothing that a key could name; expected no "
                                               "such header (POST /v1/tasks/{task}/executions takes it)");
}

void ServerCall::check_body() const {
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

}  // namespace hapax::http
