// http_bench PROGRAM STORE_URL_PREFIX...: compares enqueues over HTTP with the same calls through the library, in
// turns.
//
// For each prefix ("sqlite:/tmp/x/", "postgresql://…?schema=") every measurement gets its own store: the prefix plus a
// name. CONNECTIONS (64), EACH_SECONDS (4), ROUNDS (3), BATCH (1000) come from the environment; prints medians.
#include "clients.hpp"
#include "server_process.hpp"

#include <hapax/hapax.hpp>

#include "store/open.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ranges>
#include <thread>

namespace http_bench {

struct Item {
  int i = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Item, i)

namespace {

const hapax::Task<Item, void> noop{"noop", {.queue = "task"}};

int setting(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::stoi(value);
}

struct Settings {
  int connections = setting("CONNECTIONS", 64);
  int seconds = setting("EACH_SECONDS", 4);
  int rounds = setting("ROUNDS", 3);
  int batch = setting("BATCH", 1000);
};

double quantile(std::vector<double> values, double q) {
  if (values.empty()) { return 0; }
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, static_cast<std::size_t>(static_cast<double>(values.size()) * q))];
}

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Figure {
  std::string name;
  std::vector<double> rates;
  std::vector<double> p50;
  std::vector<double> p99;
  std::vector<double> cpu_us;          // of the measured program
  std::vector<double> clients_cpu_us;  // of its clients, if they are another program

  [[nodiscard]] double rate() const { return quantile(rates, 0.5); }
};

class Bench {
 public:
  Bench(std::string program, std::string prefix, Settings settings)
      : program_(std::move(program)), prefix_(std::move(prefix)), settings_(settings) {}

  void run() {
    for (int round = 0; round < settings_.rounds; ++round) {
      library(single_library_, "single", 1, [](hapax::App& app, int i) { app.enqueue(noop, {i}); });
      over_http(single_http_, "http_single", single_request(),
                {.status = 201, .mark = "\"created\":true", .marks_each = 1});
      library(bulk_library_, "bulk", settings_.batch, [this](hapax::App& app, int i) {
        (void)app.enqueue_many(noop, std::views::iota(i, i + settings_.batch) |
                                         std::views::transform([](int each) { return Item{each}; }));
      });
      over_http(bulk_http_, "http_bulk", batch_request(),
                {.status = 200, .mark = "\"created\":true", .marks_each = settings_.batch});
    }
    print();
  }

 private:
  std::string fresh_store() {
    const std::string url =
        prefix_ + "bench" + std::to_string(++stores_) + (prefix_.starts_with("sqlite:") ? ".db" : "");
    hapax::store::migrate(url);
    return url;
  }

  template <class Call>
  void library(Figure& figure, const char* name, int each, const Call& call) {
    figure.name = name;
    auto app = hapax::open(fresh_store());
    enum class Phase { warming, measuring, over };
    std::atomic<Phase> phase{Phase::warming};
    std::vector<std::vector<double>> took(static_cast<std::size_t>(settings_.connections));
    std::vector<std::jthread> producers;
    for (auto& mine : took) {
      producers.emplace_back([&] {
        for (int i = 0; phase != Phase::over; ++i) {
          const auto begun = Clock::now();
          call(app, i);
          const auto ended = Clock::now();
          if (phase == Phase::measuring) {
            mine.push_back(std::chrono::duration<double, std::milli>(ended - begun).count());
          }
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const double cpu = own_cpu_seconds();
    const auto begun = Clock::now();
    phase = Phase::measuring;
    std::this_thread::sleep_for(std::chrono::seconds(settings_.seconds));
    phase = Phase::over;
    const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    const double spent = own_cpu_seconds() - cpu;
    producers.clear();
    std::vector<double> all;
    for (const auto& mine : took) { all.insert(all.end(), mine.begin(), mine.end()); }
    note(figure, all, seconds, each, spent);
  }

  void over_http(Figure& figure, const char* name, std::string request, Load load) {
    figure.name = name;
    const ServerProcess server(program_, fresh_store(), log_file());
    load.port = server.port();
    load.connections = settings_.connections;
    load.request = std::move(request);
    load.measured = std::chrono::seconds(settings_.seconds);
    const double cpu = server.cpu_seconds();
    const double own_cpu = own_cpu_seconds();
    const Measured measured = measure(load);
    const double share = load.measured / (load.measured + load.warm_up);
    const double items = static_cast<double>(measured.answers * load.marks_each);
    figure.clients_cpu_us.push_back((own_cpu_seconds() - own_cpu) * share * 1e6 / std::max(items, 1.0));
    note(figure, measured.took_ms, measured.seconds, static_cast<int>(load.marks_each),
         (server.cpu_seconds() - cpu) * share);
  }

  void note(Figure& figure, const std::vector<double>& took_ms, double seconds, int each, double cpu) {
    const double items = static_cast<double>(took_ms.size()) * each;
    figure.rates.push_back(items / seconds);
    figure.p50.push_back(quantile(took_ms, 0.5));
    figure.p99.push_back(quantile(took_ms, 0.99));
    figure.cpu_us.push_back(cpu * 1e6 / std::max(items, 1.0));
    std::fprintf(stderr, "  %-12s %9.0f/s\n", figure.name.c_str(), figure.rates.back());
  }

  [[nodiscard]] static std::string post(const std::string& path, const std::string& type, const std::string& body) {
    return "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: " + type +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  [[nodiscard]] static std::string single_request() {
    return post("/v1/tasks/noop/executions", "application/json", R"({"queue":"task","input":{"i":456}})");
  }
  [[nodiscard]] std::string batch_request() const {
    std::string body;
    for (int i = 0; i < settings_.batch; ++i) {
      body += R"({"task":"noop","queue":"task","input":{"i":)" + std::to_string(i) + "}}\n";
    }
    return post("/v1/executions/batch", "application/x-ndjson", body);
  }

  [[nodiscard]] static std::string log_file() {
    const char* folder = std::getenv("TMPDIR");
    return std::string(folder == nullptr ? "/tmp" : folder) + "/hapax-http-bench.log";
  }

  void print() const {
    const bool sqlite = prefix_.starts_with("sqlite:");
    std::printf("%s, %d at once, batches of %d, medians of %d rounds of %d s\n", sqlite ? "SQLite" : "PostgreSQL",
                settings_.connections, settings_.batch, settings_.rounds, settings_.seconds);
    std::printf("  %-12s %10s %10s %10s %14s %14s\n", "", "enqueues/s", "p50 ms", "p99 ms", "CPU us/enqueue",
                "clients' CPU");
    for (const Figure* figure : {&single_library_, &single_http_, &bulk_library_, &bulk_http_}) {
      std::printf("  %-12s %10.0f %10.2f %10.2f %14.1f %14.1f\n", figure->name.c_str(), figure->rate(),
                  quantile(figure->p50, 0.5), quantile(figure->p99, 0.5), quantile(figure->cpu_us, 0.5),
                  quantile(figure->clients_cpu_us, 0.5));
    }
    std::printf("  HTTP : library, single %.0f %% (goal 70), batches %.0f %% (goal 60)\n",
                100 * single_http_.rate() / single_library_.rate(), 100 * bulk_http_.rate() / bulk_library_.rate());
    std::fflush(stdout);
  }

  const std::string program_;
  const std::string prefix_;
  const Settings settings_;
  int stores_ = 0;
  Figure single_library_;
  Figure single_http_;
  Figure bulk_library_;
  Figure bulk_http_;
};

}  // namespace
}  // namespace http_bench

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "http_bench PROGRAM STORE_URL_PREFIX...\n");
    return 64;
  }
  try {
    for (int i = 2; i < count; ++i) { http_bench::Bench(arguments[1], arguments[i], {}).run(); }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "http_bench: %s\n", error.what());
    return 1;
  }
}
