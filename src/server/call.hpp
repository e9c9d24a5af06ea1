// Call: one request while it is answered. What a route's handler works with.
//
// A handler is a plain function on a stack of its own (a fiber): it runs on an event loop's thread, and whatever waits in
// here lets that thread go on with other requests. So a handler never blocks by itself (no store call, no sleep, no lock
// that is held for long): it asks blocking() or await() to. It stays on its thread from beginning to end, and may wait
// anywhere, also inside a catch block. Used by its own handler only.
#pragma once

#include <hapax/time.hpp>

#include "server/http_error.hpp"
#include "server/principal.hpp"
#include "server/request.hpp"
#include "server/signal.hpp"

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

namespace hapax::server {

// Why a wait is over.
enum class Woke : std::uint8_t {
  raised,       // the signal
  time_over,    //
  client_gone,  // nobody is there to be answered
  draining,     // the server stops: answer what there is, end the stream
};

// What came of asking for a line.
enum class LineRead : std::uint8_t { whole, too_long, none_left };

class Call {
 public:
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  virtual ~Call() = default;

  [[nodiscard]] const Request& request() const { return *request_; }
  [[nodiscard]] const Principal& principal() const { return principal_; }
  // The part of the path that {name} in the route's pattern stands for, percent-decoded; not empty.
  [[nodiscard]] const std::string& parameter(std::string_view name) const;
  // Asks again who the caller is: for calls that last, at least every recheck_every and before anything is handed out
  // (SPEC X2). Throws Unauthorized or Forbidden once the token is revoked or over, or not for this route any more.
  virtual void check_still_let_in() = 0;
  static constexpr Duration recheck_every = std::chrono::seconds(5);
  // The request's W3C traceparent if it has a well-formed one, else empty.
  [[nodiscard]] const std::string& traceparent() const { return traceparent_; }

  // ---- The request's body ----------------------------------------------------------------------------------------
  // All of it, at most the route's body_limit. Throws HttpError: 413 too long, 408 too slow, 400 malformed.
  [[nodiscard]] virtual const std::string& body() = 0;
  // Line by line, without their ends (LF or CRLF). One over the route's line_limit is passed over: `line` is empty then,
  // and what follows it comes next. Memory is bounded by one line. Either this or body().
  [[nodiscard]] virtual LineRead next_line(std::string& line) = 0;

  // ---- Waiting ---------------------------------------------------------------------------------------------------
  // Runs `fn` on a store thread and gives back what it returns or throws.
  template <class Function>
  auto blocking(Function fn) -> std::invoke_result_t<Function&>;
  // An operation with a callback. start(done) begins it; `done`, a void(R, std::exception_ptr), may be called by any
  // thread, also before start returns, exactly once. Gives back R or throws. Waits for as long as it takes, whether
  // the client is there or not: what was begun is finished.
  //   auto admission = call.await<model::Admission>([&](auto done) { engine.admit_async(std::move(request), done); });
  template <class R, class Start>
  R await(Start start);
  // Until the signal is raised, but not longer than that.
  [[nodiscard]] virtual Woke wait_on(Signal& signal, Duration at_most) = 0;
  // Lets time pass.
  [[nodiscard]] virtual Woke pause(Duration at_most) = 0;
  [[nodiscard]] virtual bool draining() const = 0;
  // Between the batches of a long act: whether it is to go on. False: nobody is there to be answered, or the server stops.
  // Throws like check_still_let_in().
  [[nodiscard]] bool goes_on() {
    const Woke woke = pause(Duration::zero());
    if (woke == Woke::client_gone || woke == Woke::draining) { return false; }
    check_still_let_in();
    return true;
  }

  // ---- Streams: NDJSON, server-sent events ---------------------------------------------------------------------------
  // Sends the head (its body is sent as the first piece); what the handler then returns is ignored, and what it throws
  // cuts the stream off, so that the client does not take it for whole.
  virtual void begin_stream(Response head) = 0;
  // Sends a piece and waits until the network has taken it. False: the client is gone, end the handler.
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
  // On the call's stack, which is there until it is answered. The callback may be destroyed after the call has gone on, and
  // is a pointer so that it needs no memory of its own.
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
      // From here on the call may go on, and its stack with it.
      const std::function<void()> resumes = std::move(at->resume);
      resumes();
    });
  });
  if (state.error) { std::rethrow_exception(state.error); }
  return std::move(*state.value);
}

}  // namespace hapax::server
