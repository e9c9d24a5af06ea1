#include "http/listener.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>

#include <charconv>
#include <future>
#include <limits>
#include <optional>

#include <sys/resource.h>

namespace hapax::http {

namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr int backlog = 4096;
// File descriptors left for the store, logs and accept() itself.
constexpr std::size_t reserved_files = 100;
// Connections over the limit that are answered 503; beyond this number they are closed without an answer.
constexpr std::size_t answered_over_limit = 500;
constexpr std::chrono::milliseconds breath{50};

tcp::endpoint parse_address(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    throw ConfigurationError("--listen " + base::echo(text) + ": " + why +
                             "; expected ADDRESS:PORT, such as 127.0.0.1:7171");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) { refuse("there is no port"); }
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') { host = host.substr(1, host.size() - 2); }
  if (host == "localhost") { host = "127.0.0.1"; }
  unsigned short port = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data() + colon + 1, end, port);
  if (problem != std::errc() || stopped != end) { refuse("the port is not a number up to 65535"); }
  error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  if (error) { refuse(base::quoted(host) + " is not an address"); }
  return {address, port};
}

std::string text_of(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" + std::to_string(endpoint.port());
}

std::size_t file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::numeric_limits<std::size_t>::max();
  }
  return limit.rlim_cur;
}

}  // namespace

struct Listener::Accepting : std::enable_shared_from_this<Accepting> {
  Accepting(std::shared_ptr<ServerState> of, std::vector<std::shared_ptr<EventLoop>> all)
      : state(std::move(of)), loops(std::move(all)), acceptor(loops.front()->io()), timer(loops.front()->io()) {
    const std::size_t files = file_limit();
    const std::size_t room =
        files > 2 * (reserved_files + answered_over_limit) ? files - reserved_files - answered_over_limit : files / 2;
    limit = std::min(state->options.connections, room);
  }

  void accept() {
    EventLoop& next = *loops[turn++ % loops.size()];
    acceptor.async_accept(next.io(), [self = shared_from_this(), &next](const error_code& error, Socket socket) {
      if (error == boost::asio::error::operation_aborted || !self->acceptor.is_open()) { return; }
      if (error) {
        // Out of file descriptors or memory: accepting pauses; open connections go on, and one of them may close.
        self->wait_a_little();
        return;
      }
      self->take(next, std::move(socket));
      self->accept();
    });
  }

  void take(EventLoop& loop, Socket socket) {
    const std::size_t now = state->connections.fetch_add(1);
    state->observer.connections.add(1);
    state->observer.accepted.add();
    AcceptedFrom at = accepted_from;
    at.over_limit = now >= limit;
    if (at.over_limit) { state->observer.refused.add(); }
    if (now >= limit + answered_over_limit) {
      state->gone();
      return;
    }
    loop.adopt(std::move(socket), at);
  }

  void wait_a_little() {
    timer.expires_after(breath);
    timer.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error && self->acceptor.is_open()) { self->accept(); }
    });
  }

  std::shared_ptr<ServerState> state;
  std::vector<std::shared_ptr<EventLoop>> loops;
  Acceptor acceptor;
  Timer timer;
  AcceptedFrom accepted_from;
  std::size_t limit = 0;
  std::size_t turn = 0;
};

Listener::Listener(const std::string& address, std::shared_ptr<ServerState> state,
                   const std::vector<std::shared_ptr<EventLoop>>& loops)
    : accepting_(std::make_shared<Accepting>(state, loops)) {
  const tcp::endpoint endpoint = parse_address(address);
  accepting_->accepted_from.loopback = endpoint.address().is_loopback();
  if (!accepting_->accepted_from.loopback && !state->authenticator->has_tokens()) {
    throw ConfigurationError("--listen " + address +
                             ": other machines can reach that address, and there are no tokens; make one with "
                             "`hapax token create`, or listen on 127.0.0.1");
  }
  Acceptor& acceptor = accepting_->acceptor;
  error_code error;
  const auto check = [&] {
    if (error) { throw ConfigurationError("--listen " + address + ": " + error.message()); }
  };
  acceptor.open(endpoint.protocol(), error);
  check();
  acceptor.set_option(Acceptor::reuse_address(true), error);
  check();
  if (endpoint.address().is_v6()) {
    acceptor.set_option(boost::asio::ip::v6_only(true), error);
    check();
  }
  acceptor.bind(endpoint, error);
  check();
  acceptor.listen(backlog, error);
  check();
  bound_ = text_of(acceptor.local_endpoint(error));
  check();
}

void Listener::start() { accepting_->accept(); }

void Listener::stop() {
  const auto closed = std::make_shared<std::promise<void>>();
  std::future<void> done = closed->get_future();
  boost::asio::post(accepting_->loops.front()->io(), [accepting = accepting_, closed] {
    error_code ignored;
    accepting->acceptor.close(ignored);
    accepting->timer.cancel();
    closed->set_value();
  });
  (void)done.wait_for(std::chrono::seconds(1));
}

}  // namespace hapax::http
