#include "api/routes/api.hpp"
#include "api/routes/dashboard.hpp"
#include "api/token_authenticator.hpp"
#include "base/json_out.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/end_limit.hpp"
#include "cli/exit_code.hpp"
#include "cli/problem.hpp"
#include "cli/serve_telemetry.hpp"
#include "cli/signals.hpp"
#include "cli/terminal.hpp"
#include "engine/engine.hpp"
#include "engine/wakeups.hpp"
#include "http/health.hpp"
#include "http/log_writer.hpp"
#include "http/probes.hpp"
#include "http/server.hpp"
#include "schedule/duplicate_log.hpp"
#include "schedule/ticker.hpp"
#include "store/write_probe.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>

namespace hapax::cli {
namespace {

constexpr const char* serve_examples =
    "Serves the API of docs/reference/http.md, fires due schedules and requeues dead\n"
    "workers' tasks. Any number of servers may share a store. The server prints its\n"
    "address when it listens.\n"
    "\n"
    "Without tokens the server listens on loopback addresses only, and the header\n"
    "Hapax-Namespace chooses the namespace. On loopback the server answers to the\n"
    "hosts localhost, 127.* and [::1]; --host adds names, for a proxy that passes its\n"
    "own host on.\n"
    "\n"
    "On SIGTERM or Ctrl-C the server accepts no more connections, ends long polls and\n"
    "streams, and lets requests finish within --grace. On SIGHUP the server reads the\n"
    "certificate and its key again. Requests are logged on standard error, one JSON\n"
    "object per line.\n"
    "\n"
    "Examples:\n"
    "  hapax serve --store sqlite:hapax.db\n"
    "  hapax serve --listen 0.0.0.0:7171 --token-file tokens \\\n"
    "      --tls-cert server.pem --tls-key server.key";

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
  std::string otlp;
};

constexpr std::chrono::seconds ticker_patience{15};
// The log lines of requests that failed have this member; --log errors keeps only these requests.
constexpr std::string_view trouble_mark = "\"error\":";

// Raises the limit of open files, which bounds the connections, as far as the system allows.
void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) { return; }
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

http::ServerOptions server_options(const ServeOptions& options, http::LogWriter& log) {
  const auto check_range = [](int value, int most, const char* field) {
    if (value < 0 || value > most) {
      throw InvalidArgument(field, std::to_string(value) + " is out of range; expected 1 to " + std::to_string(most));
    }
  };
  check_range(options.threads, 64, "threads");
  check_range(options.store_threads, 1024, "store-threads");
  check_range(options.connections, 1'000'000, "connections");
  http::ServerOptions made;
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

// The time of the ticker's last pass, by a monotonic clock.
class TickerPulse {
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

// How long the server, when it stops, waits after the grace period for a readiness check that still runs.
constexpr Duration probe_patience = std::chrono::milliseconds(500);

void add_checks(http::Readiness& readiness, engine::Engine& engine, const TickerPulse& ticker) {
  const int schema = engine.store().info().schema_version;
  readiness.add("store", [&engine] {
    store::check_writable(engine.store());
    return std::string();
  });
  // A newer schema is fine: a rolling upgrade migrates the store before it replaces the servers.
  readiness.add("schema", [&engine, schema] {
    return engine.store().info().schema_version >= schema ? std::string() : "is older than this server needs";
  });
  // The durability is shown without affecting the status: transactions that acknowledge writes set their own durability
  // (decision 44).
  readiness.add_remark("durability", [&engine] { return engine.store().info().durability; });
  readiness.add("sweeper", [&engine] {
    const int failures = engine.wakeups().sweeps().failures();
    return failures < limits::sweep_failures ? std::string()
                                             : "its last " + std::to_string(failures) + " sweeps failed";
  });
  readiness.add("ticker", [&ticker] { return ticker.alive() ? std::string() : "has not looked for a while"; });
}

void announce(const Shell& shell, const http::Server& server, bool encrypted) {
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
  // Made before any other thread starts, so that all threads inherit the blocked signals.
  StopSignals signals(StopSignals::Hangup::reloads);
  http::LogWriter log(STDERR_FILENO);
  const auto say = [&log](std::string_view event, std::string_view detail) { log.add(event_line(event, detail)); };
  EndLimit end_limit([&] {
    say("stopped", "the store does not answer");
    log.flush();
  });
  const http::ServerOptions server_settings = server_options(options, log);
  const schedule::DuplicateLog::Listening duplicates([say](std::string_view line) { say("duplicate events", line); });

  TickerPulse ticker;
  http::Metrics metrics;  // outlives the engine, whose observer counts in it
  const auto engine = std::make_shared<engine::Engine>(shell.shared_store());
  http::Readiness readiness;
  add_checks(readiness, *engine, ticker);
  const std::shared_ptr<OtlpExporter> exporter = make_exporter(options.otlp, metrics);
  const auto api = std::make_shared<api::Api>(engine, metrics, exporter);
  http::Router router;
  http::add_probes(router, readiness, metrics);
  api::add_api_routes(router, api);
  api::add_dashboard_routes(router);
  const auth::BookOptions book_options{.file = options.token_file,
                                       .on_trouble = [say](std::string_view what) { say("tokens", what); }};
  const auto authenticator =
      std::make_shared<api::TokenAuthenticator>(std::make_shared<auth::TokenBook>(shell.shared_store(), book_options));
  http::Server server(server_settings, std::move(router), authenticator, metrics);
  server.start();
  const auto sweep_trouble =
      std::make_shared<engine::TroubleListener>([say](std::string_view text) { say("sweep", text); });
  engine->wakeups().sweeps().add(sweep_trouble);
  engine->start_sweeper({.interval = {}, .namespace_name = shell.namespace_name()});
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
    // Threads still use objects that returning would destroy, so the process exits here. Acknowledged writes are
    // committed.
    log.flush();
    _exit(exit_store);
  }
  if (may_hang(shell)) { end_limit.set(std::max(grace_ends, EndLimit::Clock::now()) + EndLimit::after_grace); }
  api->stop();
  if (exporter) { exporter->close(); }
  return exit_ok;
}

}  // namespace

void add_serve(Commands& commands) {
  const auto options = std::make_shared<ServeOptions>();
  CLI::App& command = commands.add({"serve", "Serve the API over HTTP", serve_examples});
  command.add_option("--listen", options->listen, "Address (default 127.0.0.1:7171; port 0: any)")
      ->type_name("ADDRESS:PORT …");
  command.add_option("--host", options->hosts, "Further Host headers to accept on loopback")->type_name("NAME …");
  command.add_option("--token-file", options->token_file, "Further tokens (`hapax token create --file`)")
      ->type_name("F");
  command.add_option("--tls-cert", options->tls_certificate, "Certificate chain, PEM")->type_name("FILE");
  command.add_option("--tls-key", options->tls_key, "Private key of the certificate, PEM")->type_name("FILE");
  command.add_option("--threads", options->threads, "Event loops (default: one per core, at most 4)")->type_name("N");
  command.add_option("--store-threads", options->store_threads, "Threads for store calls (default 16)")->type_name("N");
  command.add_option("--connections", options->connections, "Connections at once; more are answered 503")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--grace", options->grace, "Time for running requests to finish at a stop")
      ->type_name("D")
      ->capture_default_str();
  command.add_option("--log", options->log, "Requests to log: all, errors or off")
      ->type_name("WHICH")
      ->capture_default_str();
  command.add_option("--otlp", options->otlp, "OpenTelemetry collector for spans and metrics (OTLP/HTTP, JSON)")
      ->type_name("URL");
  commands.run_with(command, [options](Shell& shell) { return run_serve(shell, *options); });
}

}  // namespace hapax::cli
