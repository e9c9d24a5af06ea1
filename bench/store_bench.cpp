// The store interface's most frequent calls, on the memory store and on SQLite in a temporary folder. The rig measures
// PostgreSQL, with its server's settings.
#include "base/uuid7.hpp"
#include "store/open.hpp"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

namespace {

using namespace hapax;
using namespace hapax::model;

struct Fixture {
  explicit Fixture(const std::string& kind) {
    if (kind == "sqlite") {
      std::string pattern = (std::filesystem::temp_directory_path() / "hapax-bench-XXXXXX").string();
      folder = mkdtemp(pattern.data());
      store = store::open("sqlite:" + folder + "/bench.db");
    } else {
      store = store::open("memory:");
    }
    session.id = base::new_uuid7();
    session.lease = std::chrono::hours(12);
    session.queues = {QueueRef{}};
    store->open_session(session);
  }
  ~Fixture() {
    store.reset();
    if (!folder.empty()) std::filesystem::remove_all(folder);
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  void admit(std::int64_t count) {
    std::vector<NewExecution> items(static_cast<std::size_t>(count));
    for (NewExecution& item : items) {
      item.id = base::new_uuid7();
      item.task = "noop";
      item.input = R"({"i":1})";
    }
    (void)store->admit(items);
  }

  // One exchange: outcomes of the last claim, and the next claim.
  void turn(int limit) {
    ClaimRequest request;
    request.session = session.id;
    request.claim_number = ++claim_number;
    request.queues = session.queues;
    request.limit = limit;
    const Exchange reply = store->exchange(finishes, &request);
    finishes.clear();
    for (const Claim& claim : reply.claim.claims) {
      Finish finish;
      finish.id = claim.id;
      finish.fence = claim.fence;
      finishes.push_back(std::move(finish));
    }
  }

  std::string folder;
  std::unique_ptr<store::Store> store;
  NewSession session;
  std::int64_t claim_number = 0;
  std::vector<Finish> finishes;
};

void admit_items(benchmark::State& state, const std::string& kind) {
  Fixture fixture(kind);
  for (auto _ : state) fixture.admit(state.range(0));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_CAPTURE(admit_items, memory, std::string("memory"))->Arg(1)->Arg(100)->Iterations(500);
BENCHMARK_CAPTURE(admit_items, sqlite, std::string("sqlite"))->Arg(1)->Arg(8)->Arg(100)->Arg(5000)->Iterations(30);

void finish_and_claim(benchmark::State& state, const std::string& kind) {
  Fixture fixture(kind);
  const auto batch = static_cast<int>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    fixture.admit(batch);
    state.ResumeTiming();
    fixture.turn(batch);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_CAPTURE(finish_and_claim, memory, std::string("memory"))->Arg(1)->Arg(1000)->Iterations(100);
BENCHMARK_CAPTURE(finish_and_claim, sqlite, std::string("sqlite"))->Arg(1)->Arg(100)->Arg(1000)->Iterations(50);

}  // namespace
