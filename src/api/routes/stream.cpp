// GET /v1/stream: server-sent events of the namespace's live changes.
#include "api/routes/answers.hpp"
#include "api/routes/api.hpp"
#include "api/routes/feed.hpp"
#include "base/json_out.hpp"

namespace hapax::api {

namespace {

// Proxies close a connection that is silent for a minute.
constexpr Duration heartbeat = std::chrono::seconds(15);
constexpr Duration first_look_wait = std::chrono::milliseconds(500);
constexpr int first_tries = 10;

// Leaves the feed however the stream ends.
class Listening {
 public:
  Listening(std::shared_ptr<Feed> feed, std::shared_ptr<http::Signal> signal)
      : feed_(std::move(feed)), signal_(std::move(signal)) {
    feed_->listen(signal_);
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  ~Listening() { feed_->leave(signal_); }

 private:
  std::shared_ptr<Feed> feed_;
  std::shared_ptr<http::Signal> signal_;
};

http::Response stream(Api& api, http::Call& call) {
  check_query(call.request(), {"last_event_id"});
  const std::string last(call.request().header("last-event-id").value_or(""));
  const std::string last_seen = last.empty() ? call.request().parameter("last_event_id").value_or("") : last;
  http::Response head{.status = 200,
                      .content_type = "text/event-stream",
                      .body = {},
                      .headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}};
  // HEAD gets only the head: a stream without events would never end.
  if (call.request().method == "HEAD") {
    call.begin_stream(std::move(head));
    return {};
  }
  const auto signal = std::make_shared<http::Signal>();
  const std::shared_ptr<Feed> feed = api.feeds().feed(call.principal().namespace_name);
  const Listening listening(feed, signal);
  // Wakes the feed again, because it now has a listener.
  api.feeds().queues_changed(call.principal().namespace_name);
  // A client that got "ready" misses no later event, unless the store was unavailable in all of these tries.
  for (int try_number = 0; try_number < first_tries && !feed->has_initial_state(); ++try_number) {
    const http::Woke woke = call.wait_on(*signal, first_look_wait);
    if (woke == http::Woke::client_gone || woke == http::Woke::draining) { return {}; }
  }
  const Feed::Start start = feed->start(last_seen);
  base::JsonObject ready;
  ready.text("namespace", call.principal().namespace_name).boolean("missed", start.missed);
  head.body = "retry: 2000\nevent: ready\ndata: " + ready.str() + "\n\n";
  call.begin_stream(std::move(head));
  std::uint64_t place = start.place;
  Duration silent{0};
  while (true) {
    call.recheck_access();
    const Feed::Piece piece = feed->after(place);
    place = piece.next;
    if (!piece.text.empty()) {
      silent = Duration::zero();
      if (!call.write(piece.text)) { return {}; }
      continue;
    }
    const http::Woke woke = call.wait_on(*signal, http::Call::recheck_every);
    if (woke == http::Woke::client_gone || woke == http::Woke::draining) { return {}; }
    if (woke != http::Woke::time_over) { continue; }
    silent += http::Call::recheck_every;
    if (silent < heartbeat) { continue; }
    silent = Duration::zero();
    if (!call.write(": still here\n\n")) { return {}; }
  }
}

}  // namespace

void add_stream_routes(http::Router& router, const std::shared_ptr<Api>& api) {
  router.add({.method = "GET", .pattern = "/v1/stream", .scope = http::Scope::read, .handler = [api](http::Call& call) {
                return stream(*api, call);
              }});
}

}  // namespace hapax::api
