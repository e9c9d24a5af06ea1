// Micro-benchmarks of the pure functions that every enqueue calls.
#include "base/json.hpp"
#include "base/sha256.hpp"
#include "base/uuid7.hpp"
#include "model/identity.hpp"
#include "model/validate.hpp"

#include <benchmark/benchmark.h>

namespace {

using namespace hapax;

const std::string small_input = R"({"i": 123})";
const std::string order_input =
    R"({"order":{"id":"o-4711","total":99.99,"currency":"CHF","lines":[{"sku":"a","n":1},{"sku":"b","n":2}]},"note":"né"})";

void new_uuid7(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(base::new_uuid7());
}
BENCHMARK(new_uuid7)->Threads(1)->Threads(2);

void check_json(benchmark::State& state, const std::string& text) {
  for (auto _ : state) base::check_json(text, "input");
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(text.size()));
}
BENCHMARK_CAPTURE(check_json, small, small_input);
BENCHMARK_CAPTURE(check_json, order, order_input);

void canonical_json(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(base::canonical_json(text));
}
BENCHMARK_CAPTURE(canonical_json, small, small_input);
BENCHMARK_CAPTURE(canonical_json, order, order_input);

void identity_hash(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(model::identity_hash(
        {.namespace_name = "default", .scope = model::Scope::task, .name = "charge_card", .key = "order-456"}));
  }
}
BENCHMARK(identity_hash);

void check_new_execution(benchmark::State& state) {
  model::NewExecution request;
  request.id = base::new_uuid7();
  request.task = "charge_card";
  request.input = small_input;
  for (auto _ : state) model::check_new_execution(request);
}
BENCHMARK(check_new_execution);

}  // namespace
