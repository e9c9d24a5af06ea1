// Call: one request while it is answered; a route's handler works with it.
//
// A handler is a plain function on a stack of its own (a fiber). It runs on an event loop's thread, and each waiting
// function of Call lets that thread serve other requests meanwhile. So a handler never blocks by itself (no store call,
// no sleep, no long-held lock): it uses blocking() or await(). A handler stays on one thread from beginning to end, and
// may wait anywhere, also inside a catch block. Only its own handler uses a Call.
#pragma once

#include <hapax/time.hpp>

#include "http/http_error.hpp"
#include "http/principal.hpp"
#include "http/request.hpp"
#include "http/signal.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hapax::http {

// Why a wait has ended.
enum class Woke : std::uint8_t {
  raised,       // the signal was raised
  time_over,    // at_most has passed
  client_gone,  // the client has left; no answer is needed
  draining,     // the server stops: send the answer so far, end the stream
};

// Result of reading a line.
enum class LineRead : std::uint8_t { whole, too_long, none_left };

class Call {
 public:
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  virtual ~Call() = default;

  [[nodiscard]] const Request& request() const { return *request_; }
  [[nodiscard]] const Principal& principal() const { return principal_; }
  // The path segment that {name} in the route's pattern stands for, percent-decoded; not empty.
  [[nodiscard]] const std::string& parameter(std::string_view name) const;
  // Authenticates the caller again. Long calls call this at least every recheck_every, and before they send claims or
  // data. Throws Unauthorized or Forbidden when the token is revoked or expired, or no longer allows this route.
  virtual void recheck_access() = 0;
  static constexpr Duration recheck_every = std::chrono::seconds(5);
  // The request's W3C traceparent if it has a well-formed one, else empty.
  [[nodiscard]] const std::string& traceparent() const { return traceparent_; }
  // The request's W3C tracestate, empty without a traceparent.
  [[nodiscard]] const std::string& tracestate() const { return tracestate_; }

  // ---- The request's body ----------------------------------------------------------------------------------------
  // The whole body, at most the route's body_limit. Throws HttpError: 413 too long, 408 too slow, 400 malformed.
  [[nodiscard]] virtual const std::string& body() = 0;
  // Reads one line without its end (LF or CRLF). For a line over the route's line_limit, `line` is empty and the next
  // call reads the line after it. Memory is bounded by one line. Use either this or body().
  [[nodiscard]] virtual LineRead next_line(std::string& line) = 0;

  // ---- Waiting ---------------------------------------------------------------------------------------------------
  // Runs `fn` on a store thread; returns its result or throws its exception.
  template <class Function>
  auto blocking(Function fn) -> std::invoke_result_t<Function&>;
  // Runs an asynchronous operation. start(done) begins it; `done`, a void(R, std::exception_ptr), is called exactly
  // once, by any thread, also before start returns. Returns R or throws. Waits as long as the operation takes, even if
  // the client has left: an operation that has begun is finished.
  //   auto admission = call.await<model::Admission>([&](auto done) { engine.admit_async(std::move(request), done); });
  template <class R, class Start>
  R await(Start start);
  // Waits until the signal is raised, at most `at_most`.
  [[nodiscard]] virtual Woke wait_on(Signal& signal, Duration at_most) = 0;
  // Waits for `at_most`, unless the client leaves or the server stops.
  [[nodiscard]] virtual Woke pause(Duration at_most) = 0;
  [[nodiscard]] virtual bool draining() const = 0;
  // Whether a long act continues with its next batch: false when the client has left or the server stops. Throws what
  // recheck_access() throws.
  [[nodiscard]] bool may_continue() {
    const Woke woke = pause(Duration::zero());
    if (woke == Woke::client_gone || woke == Woke::draining) { return false; }
    recheck_access();
    return true;
  }

  // ---- Streams: NDJSON, server-sent events ---------------------------------------------------------------------------
  // Sends the head, and its body as the first piece. Afterwards the handler's return value is ignored, and an exception
  // cuts the stream off, so that the client does not take it for complete.
  virtual void begin_stream(Response head) = 0;
  // Sends a piece and waits until the network has accepted it. False: the client is gone, end the handler.
  [[nodiscard]] virtual bool write(std::string_view piece) = 0;

 protected:
  Call() = default;
  // Runs `fn`, which does not throw, on a store thread.
  virtual void run_blocking(const std::function<void()>& fn) = 0;
  // Calls start(resume) and waits until resume() was called, by any thread.
  virtual void suspend(const std::function<void(std::function<void()> resume)>& start) = 0;

  const Request* request_ = nullptr;
  Principal principal_;
  std::string traceparent_;
  std::string tracestate_;
  std::vector<std::pair<std::string_view, const std::string*>> parameters_;
};

template <class Function>
auto Call::blocking(Function fn) -> std::invoke_result_t<Function&> {
  using Result = std::invoke_result_t<Function&>;
  std::exception_ptr error;
  if constexpr (std::is_void_v<Result>) {
    run_blocking([&] {
      try {
        fn();
      } catch (...) { error = std::current_exception(); }
    });
    if (error) { std::rethrow_exception(error); }
  } else {
    std::optional<Result> result;
    run_blocking([&] {
      try {
        result.emplace(fn());
      } catch (...) { error = std::current_exception(); }
    });
    if (error) { std::rethrow_exception(error); }
    return std::move(*result);
  }
}

template <class R, class Start>
R Call::await(Start start) {
  // The state is on the call's stack, which outlives the wait. The callback may be destroyed after the call has
  // resumed; it holds only a pointer, so that it needs no allocation.
  struct State {
    std::optional<R> value;
    std::exception_ptr error;
    std::function<void()> resume;
  } state;
  suspend([&](std::function<void()>&& resume) {
    state.resume = std::move(resume);
    start([at = &state](R value, const std::exception_ptr& error) {
      at->value.emplace(std::move(value));
      at->error = error;
      // From here on the call may resume and destroy its stack.
      const std::function<void()> resumes = std::move(at->resume);
      resumes();
    });
  });
  if (state.error) { std::rethrow_exception(state.error); }
  return std::move(*state.value);
}

}  // namespace hapax::http
