// GET /v1/stream: server-sent events of the namespace's live changes.
#include "server/routes/answers.hpp"
#include "server/routes/api.hpp"
#include "server/routes/feed.hpp"
#include "wire/json_out.hpp"

namespace hapax::server {

namespace {

// Proxies close what is silent for a minute.
constexpr Duration heartbeat = std::chrono::seconds(15);
constexpr Duration first_look_wait = std::chrono::milliseconds(500);
constexpr int first_looks = 10;

// Leaves the feed whatever ends the stream.
class Listening {
 public:
  Listening(std::shared_ptr<Feed> feed, std::shared_ptr<Signal> signal)
      : feed_(std::move(feed)), signal_(std::move(signal)) {
    feed_->listen(signal_);
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  ~Listening() { feed_->leave(signal_); }

 private:
  std::shared_ptr<Feed> feed_;
  std::shared_ptr<Signal> signal_;
};

Response stream(Api& api, Call& call) {
  check_query(call.request(), {"last_event_id"});
  const std::string last(call.request().header("last-event-id").value_or(""));
  const std::string last_seen = last.empty() ? call.request().parameter("last_event_id").value_or("") : last;
  Response head{.status = 200,
                .content_type = "text/event-stream",
                .body = {},
                .headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}};
  // The answer to HEAD is the head alone: a stream without events would never end.
  if (call.request().method == "HEAD") {
    call.begin_stream(std::move(head));
    return {};
  }
  const auto signal = std::make_shared<Signal>();
  const std::shared_ptr<Feed> feed = api.feeds().feed(call.principal().ns);
  const Listening listening(feed, signal);
  // Woken again, now that somebody listens.
  api.feeds().queues_changed(call.principal().ns);
  // Whoever is told that it is ready misses nothing that comes after; unless the store is away.
  for (int look = 0; look < first_looks && !feed->has_looked(); ++look) {
    const Woke woke = call.wait_on(*signal, first_look_wait);
    if (woke == Woke::client_gone || woke == Woke::draining) { return {}; }
  }
  const Feed::Start start = feed->start(last_seen);
  wire::JsonObject ready;
  ready.text("namespace", call.principal().ns).boolean("missed", start.missed);
  head.body = "retry: 2000\nevent: ready\ndata: " + ready.str() + "\n\n";
  call.begin_stream(std::move(head));
  std::uint64_t place = start.place;
  Duration silent{0};
  while (true) {
    call.check_still_let_in();
    const Feed::Piece piece = feed->after(place);
    place = piece.next;
    if (!piece.text.empty()) {
      silent = Duration::zero();
      if (!call.write(piece.text)) { return {}; }
      continue;
    }
    const Woke woke = call.wait_on(*signal, Call::recheck_every);
    if (woke == Woke::client_gone || woke == Woke::draining) { return {}; }
    if (woke != Woke::time_over) { continue; }
    silent += Call::recheck_every;
    if (silent < heartbeat) { continue; }
    silent = Duration::zero();
    if (!call.write(": still here\n\n")) { return {}; }
  }
}

}  // namespace

void add_stream_routes(Router& router, const std::shared_ptr<Api>& api) {
  router.add({.method = "GET", .pattern = "/v1/stream", .scope = Scope::read, .handler = [api](Call& call) {
                return stream(*api, call);
              }});
}

}  // namespace hapax::server
