#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/end_limit.hpp"
#include "cli/exit_code.hpp"
#include "cli/problem.hpp"
#include "cli/signals.hpp"
#include "cli/terminal.hpp"
#include "engine/engine.hpp"
#include "engine/hub.hpp"
#include "schedule/duplicate_log.hpp"
#include "schedule/ticker.hpp"
#include "server/health.hpp"
#include "server/log_writer.hpp"
#include "server/probes.hpp"
#include "server/routes/api.hpp"
#include "server/server.hpp"
#include "server/token_authenticator.hpp"
#include "store/write_probe.hpp"
#include "wire/json_out.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>

namespace hapax::cli {
namespace {

constexpr const char* serve_examples =
    "Serves the API of docs/reference/http.md, starts what schedules are due for and takes back what lost workers "
    "held; "
    "any\n"
    "number of servers may share a store. Prints the address when it listens.\n"
    "\n"
    "Without tokens it listens on loopback addresses only, and the header Hapax-Namespace chooses the namespace. On\n"
    "loopback it answers to the hosts localhost, 127.* and [::1]; --host names more, for a proxy that passes its own "
    "on.\n"
    "\n"
    "SIGTERM or Ctrl-C: takes no more connections, ends long polls and streams, lets requests finish within --grace.\n"
    "SIGHUP: reads the certificate and its key again.\n"
    "Requests are logged on standard error, a JSON object a line.\n"
    "\n"
    "Examples:\n"
    "  hapax serve --store sqlite:hapax.db\n"
    "  hapax serve --listen 0.0.0.0:7171 --token-file tokens --tls-cert server.pem --tls-key server.key";

struct ServeOptions {
  std::vector<std::string> listen;
  std::vector<std::string> hosts;
  std::string token_file;
  std::string tls_certificate;
  std::string tls_key;
  int threads = 0;
  int store_threads = 0;
  int connections = 10'000;
  std::string grace = "30s";
  std::string log = "all";
};

constexpr std::chrono::seconds ticker_patience{15};
// From here on a request is a trouble that the log tells in any case.
constexpr std::string_view trouble_mark = "\"error\":";

// As many connections as the machine lets us have.
void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) { return; }
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

server::ServerOptions server_options(const ServeOptions& options, server::LogWriter& log) {
  const auto check_range = [](int value, int most, const char* field) {
    if (value < 0 || value > most) {
      throw InvalidArgument(field, std::to_string(value) + " is out of range; expected 1 to " + std::to_string(most));
    }
  };
  check_range(options.threads, 64, "threads");
  check_range(options.store_threads, 1024, "store-threads");
  check_range(options.connections, 1'000'000, "connections");
  server::ServerOptions made;
  if (!options.listen.empty()) { made.listen = options.listen; }
  made.hosts = options.hosts;
  made.threads = options.threads;
  made.store_threads = options.store_threads;
  made.connections = static_cast<std::size_t>(options.connections);
  require_file(options.token_file, "--token-file");
  require_file(options.tls_certificate, "--tls-cert");
  require_file(options.tls_key, "--tls-key");
  made.tls_certificate = options.tls_certificate;
  made.tls_key = options.tls_key;
  if (options.log == "all") {
    made.log = [&log](std::string_view line) { log.add(line); };
  } else if (options.log == "errors") {
    made.log = [&log](std::string_view line) {
      if (line.find(trouble_mark) != std::string_view::npos) { log.add(line); }
    };
  } else if (options.log != "off") {
    throw InvalidArgument("log", base::quoted(options.log) + " is unknown; expected all, errors or off");
  }
  return made;
}

std::string event_line(std::string_view event, std::string_view detail) {
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  return JsonObject().text("time", format_time(now)).text("event", event).text("detail", detail).str() + "\n";
}

// When the ticker last looked, by a clock that is never set.
class Pulse {
 public:
  void beat() { at_ = std::chrono::steady_clock::now().time_since_epoch().count(); }
  [[nodiscard]] bool alive() const {
    const std::chrono::steady_clock::duration since =
        std::chrono::steady_clock::now().time_since_epoch() - std::chrono::steady_clock::duration(at_.load());
    return since < ticker_patience;
  }

 private:
  std::atomic<std::chrono::steady_clock::rep> at_{std::chrono::steady_clock::now().time_since_epoch().count()};
};

// For a check that runs when the server stops, after the grace of the requests.
constexpr Duration probe_patience = std::chrono::milliseconds(500);

void add_checks(server::Readiness& readiness, engine::Engine& engine, const Pulse& ticker) {
  const int schema = engine.store().info().schema_version;
  readiness.add("store", [&engine] {
    store::check_writable(engine.store());
    return std::string();
  });
  // A newer one is what a rolling upgrade leaves us with, and fine (SPEC C4).
  readiness.add("schema", [&engine, schema] {
    return engine.store().info().schema_version >= schema ? std::string() : "is older than this server needs";
  });
  // The transactions that acknowledge state their own durability (decision 44).
  readiness.add_remark("durability", [&engine] { return engine.store().info().durability; });
  readiness.add("sweeper", [&engine] {
    const int failures = engine.hub().sweeps().failures();
    return failures < limits::sweep_failures ? std::string()
                                             : "its last " + std::to_string(failures) + " sweeps failed";
  });
  readiness.add("ticker", [&ticker] { return ticker.alive() ? std::string() : "has not looked for a while"; });
}

void announce(const Shell& shell, const server::Server& server, bool encrypted) {
  const std::string scheme = encrypted ? "https://" : "http://";
  for (const std::string& address : server.addresses()) {
    print(shell.json() ? JsonObject().text("listening", scheme + address).str() : "listening on " + scheme + address);
  }
  std::fflush(stdout);
}

int run_serve(Shell& shell, const ServeOptions& options) {
  raise_file_limit();
  shell.when_store_is_missing(MissingStore::make);
  shell.use_configuration();
  const Duration grace = parse_duration(options.grace, "grace");
  check_grace(grace, "grace");
  // Before any other thread starts, so that all of them inherit it.
  StopSignals signals(StopSignals::Hangup::reloads);
  server::LogWriter log(STDERR_FILENO);
  const auto say = [&log](std::string_view event, std::string_view detail) { log.add(event_line(event, detail)); };
  EndLimit end_limit([&] {
    say("stopped", "the store does not answer");
    log.flush();
  });
  const server::ServerOptions server_settings = server_options(options, log);
  const schedule::DuplicateLog::Listening duplicates([say](std::string_view line) { say("duplicate events", line); });

  Pulse ticker;
  const auto engine = std::make_shared<engine::Engine>(shell.shared_store());
  server::Metrics metrics;
  server::Readiness readiness;
  add_checks(readiness, *engine, ticker);
  const auto api = std::make_shared<server::Api>(engine, metrics);
  server::Router router;
  server::add_probes(router, readiness, metrics);
  server::add_api_routes(router, api);
  const auth::BookOptions book_options{.file = options.token_file,
                                       .on_trouble = [say](std::string_view what) { say("tokens", what); }};
  const auto authenticator = std::make_shared<server::TokenAuthenticator>(
      std::make_shared<auth::TokenBook>(shell.shared_store(), book_options));
  server::Server server(server_settings, std::move(router), authenticator, metrics);
  server.start();
  const auto sweep_trouble =
      std::make_shared<engine::TroubleListener>([say](std::string_view text) { say("sweep", text); });
  engine->hub().sweeps().add(sweep_trouble);
  engine->start_sweeper({.interval = {}, .ns = shell.ns()});
  schedule::start_ticker(*engine, {.on_trouble = [say](std::string_view text) { say("schedules", text); },
                                   .on_looked = [&ticker] { ticker.beat(); }});
  announce(shell, server, !options.tls_certificate.empty());

  while (true) {
    const StopSignals::Event event = signals.wait(std::chrono::milliseconds(500));
    if (event == StopSignals::Event::stop) { break; }
    if (event == StopSignals::Event::reload) {
      try {
        server.reload_tls();
        say("reload", "the certificate was read again");
      } catch (const std::exception& error) { say("reload", error.what()); }
    }
  }
  say("stopping", "requests may finish within " + format_duration(grace));
  const EndLimit::Clock::time_point grace_ends = EndLimit::Clock::now() + grace;
  const bool finished = server.stop(grace);
  say("stopped", finished ? "all requests were finished" : "requests were cut off");
  const bool probes_ended = readiness.stop(probe_patience);
  if (server.stuck() || !probes_ended) {
    // Threads still use what would be destroyed now. All that was acknowledged is committed.
    log.flush();
    _exit(exit_store);
  }
  if (may_hang(shell)) { end_limit.set(std::max(grace_ends, EndLimit::Clock::now()) + EndLimit::after_grace); }
  api->stop();
  return exit_ok;
}

}  // namespace

void add_serve(Commands& commands) {
  const auto options = std::make_shared<ServeOptions>();
  CLI::App& command = commands.add({"serve", "Serve the API over HTTP", serve_examples});
  command.add_option("--listen", options->listen, "Addresses (default 127.0.0.1:7171; port 0: a free one)")
      ->type_name("ADDRESS:PORT …");
  command.add_option("--host", options->hosts, "Names that a Host header may have on loopback")->type_name("NAME …");
  command
      .add_option("--token-file", options->token_file, "Tokens beside the store's, made by `hapax token create --file`")
      ->type_name("F");
  command.add_option("--tls-cert", options->tls_certificate, "Certificate chain, PEM")->type_name("FILE");
  command.add_option("--tls-key", options->tls_key, "Its private key, PEM")->type_name("FILE");
  command.add_option("--threads", options->threads, "Event loops (default: one a processor, at most 4)")
      ->type_name("N");
  command.add_option("--store-threads", options->store_threads, "Threads for calls of the store (default 16)")
      ->type_name("N");
  command.add_option("--connections", options->connections, "At once; more are answered 503")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--grace", options->grace, "For requests that run when the server is stopped")
      ->type_name("D")
      ->capture_default_str();
  command.add_option("--log", options->log, "Requests to log: all, errors or off")
      ->type_name("WHICH")
      ->capture_default_str();
  commands.run_with(command, [options](Shell& shell) { return run_serve(shell, *options); });
}

}  // namespace hapax::cli
