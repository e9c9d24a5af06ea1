// observed STORE_URL [COLLECTOR_URL]: a program with a worker that is observed, on the public API alone.
//
// Prints `metrics ADDRESS` when the worker runs. Ends when its standard input does, and prints `sent N dropped N` if it has a
// collector.
#include <hapax/hapax.hpp>
#include <hapax/otlp.hpp>
#include <hapax/prometheus.hpp>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

const hapax::Task<std::string, std::string> charge{"charge"};
const hapax::Task<std::string> broken{"broken", {.max_attempts = 1}};
const hapax::Workflow<std::string, std::string> order{"order"};

int run(const std::string& store, const std::string& collector) {
  const auto metrics = std::make_shared<hapax::PrometheusMetrics>(hapax::PrometheusOptions{.listen = "127.0.0.1:0"});
  std::shared_ptr<hapax::OtlpExporter> exporter;
  if (!collector.empty()) {
    exporter = std::make_shared<hapax::OtlpExporter>(
        hapax::OtlpOptions{.url = collector, .service_name = "observed", .headers = {{"X-Test", "secret"}}});
  }
  auto app = hapax::open(store, {.migrate = true, .observer = hapax::observe_with({metrics, exporter})});
  app.handle(charge, [](const std::string& id) { return "paid " + id; });
  app.handle(broken, [](const std::string&) { throw std::runtime_error("broken"); });
  app.handle(order, [](hapax::WorkflowContext& ctx, const std::string& id) {
    const std::string reserved = ctx.step("reserve", [&] { return id; });
    return ctx.run(charge, reserved);
  });
  auto worker = app.work({.threads = 2, .name = "observed"});
  std::cout << "metrics " << metrics->address() << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {}
  worker.stop();
  if (exporter) {
    exporter->close();
    const hapax::OtlpCounts counts = exporter->counts();
    std::cout << "sent " << counts.sent << " dropped " << counts.dropped << std::endl;
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) { return 64; }
  try {
    return run(arguments[1], count > 2 ? arguments[2] : "");
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
