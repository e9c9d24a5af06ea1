// Routes that are answered in this process, without a server.
#include "http/local_call.hpp"

#include <hapax/error.hpp>

#include "http/call.hpp"
#include "http/signal.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace hapax::http {
namespace {

Router router_with(std::string method, std::string pattern, Handler handler) {
  Router router;
  router.add({.method = std::move(method), .pattern = std::move(pattern), .handler = std::move(handler)});
  return router;
}

Response ask(const Router& router, const Question& question) {
  return answer_locally(router, {.namespace_name = "shop", .name = "ada"}, question);
}

TEST(LocalCall, AHandlerGetsThePathTheQueryTheBodyAndTheCaller) {
  const Router router = router_with("PUT", "/v1/queues/{queue}", [](Call& call) {
    Response response{.status = 201};
    response.body = call.parameter("queue") + "|" + call.request().parameter("x").value_or("") + "|" + call.body() +
                    "|" + call.principal().namespace_name + "|" + call.principal().name + "|" +
                    std::string(call.request().header("content-type").value_or(""));
    return response;
  });
  const Response response = ask(
      router, {.method = "PUT", .target = "/v1/queues/a%2F%20b?x=1%262", .body = "{}", .content_type = "text/plain"});
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.body, "a/ b|1&2|{}|shop|ada|text/plain");
}

TEST(LocalCall, ATargetMayBeLong) {
  const Router router = router_with("GET", "/v1/find", [](Call& call) {
    return Response{.body = std::to_string(call.request().parameter("key").value_or("").size())};
  });
  EXPECT_EQ(ask(router, {.target = "/v1/find?key=" + std::string(100'000, 'x')}).body, "100000");
}

TEST(LocalCall, AnErrorOfTheHandlerKeepsItsType) {
  const Router router =
      router_with("GET", "/v1/gone", [](Call&) -> Response { throw ResultExpired("its record is gone"); });
  EXPECT_THROW((void)ask(router, {.target = "/v1/gone"}), ResultExpired);
  EXPECT_THROW((void)ask(router, {.target = "/v1/nothing"}), NotFound);
}

TEST(LocalCall, LinesAreReadAndAStreamIsCollected) {
  const Router router = router_with("POST", "/v1/lines", [](Call& call) {
    std::string line;
    call.begin_stream({.status = 200, .content_type = "application/x-ndjson", .body = "begin;"});
    while (call.next_line(line) != LineRead::none_left) { EXPECT_TRUE(call.write(line + ";")); }
    return Response{.status = 500, .body = "ignored"};
  });
  const Response response = ask(router, {.method = "POST", .target = "/v1/lines", .body = "one\r\n\ntwo"});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "application/x-ndjson");
  EXPECT_EQ(response.body, "begin;one;;two;");
}

TEST(LocalCall, AStreamOfEventsIsRefused) {
  const Router router = router_with("GET", "/v1/stream", [](Call& call) {
    call.begin_stream({.status = 200, .content_type = "text/event-stream"});
    return Response{};
  });
  EXPECT_THROW((void)ask(router, {.target = "/v1/stream"}), Unsupported);
}

TEST(LocalCall, WaitsAndBlockingWorkRunOnTheCallersThread) {
  const std::thread::id caller = std::this_thread::get_id();
  const auto signal = std::make_shared<Signal>();
  const Router router = router_with("GET", "/v1/wait", [&](Call& call) {
    EXPECT_EQ(call.blocking([] { return std::this_thread::get_id(); }), caller);
    EXPECT_EQ(call.wait_on(*signal, std::chrono::milliseconds(1)), Woke::time_over);
    std::thread raiser([&] { signal->raise(); });
    EXPECT_EQ(call.wait_on(*signal, std::chrono::minutes(1)), Woke::raised);
    raiser.join();
    signal->raise();
    EXPECT_EQ(call.wait_on(*signal, std::chrono::minutes(1)), Woke::raised);
    EXPECT_EQ(call.pause(Duration::zero()), Woke::time_over);
    EXPECT_TRUE(call.may_continue());
    return Response{};
  });
  EXPECT_EQ(ask(router, {.target = "/v1/wait"}).status, 200);
}

TEST(LocalCall, AnAsynchronousOperationIsWaitedFor) {
  const Router router = router_with("GET", "/v1/await", [](Call& call) {
    EXPECT_EQ(call.await<int>([](auto done) { done(7, nullptr); }), 7);
    std::thread other;
    const int got = call.await<int>([&](auto done) { other = std::thread([done] { done(8, nullptr); }); });
    other.join();
    EXPECT_EQ(got, 8);
    EXPECT_THROW((void)call.await<int>([](auto done) { done(0, std::make_exception_ptr(StoreBusy("busy"))); }),
                 StoreBusy);
    return Response{};
  });
  EXPECT_EQ(ask(router, {.target = "/v1/await"}).status, 200);
}

}  // namespace
}  // namespace hapax::http
