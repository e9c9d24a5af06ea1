// The cost of a guard compared with the bare function, for each store, next to the cheapest raw operation of that
// store.
//
// build/release/hapax_bench --benchmark_filter=guard
#include <hapax/guard.hpp>

#include <benchmark/benchmark.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace {

using namespace std::chrono_literals;

struct Order {
  std::string id;
  std::int64_t cents = 0;
};
struct Invoice {
  std::string number;
  std::int64_t cents = 0;
};
void to_json(nlohmann::json& json, const Order& order) { json = {{"id", order.id}, {"cents", order.cents}}; }
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Invoice, number, cents)

std::int64_t twice(std::int64_t number) { return 2 * number; }
Invoice invoice(const Order& order) { return {"F-" + order.id, order.cents}; }

hapax::GuardOptions options(hapax::GuardStorePtr store) {
  hapax::GuardOptions made;
  made.store = std::move(store);
  return made;
}

// Shared by all threads and all runs of a benchmark.
const hapax::GuardStorePtr& shared_memory() {
  static const hapax::GuardStorePtr store = hapax::memory_guard_store({.max_records = 200'000});
  return store;
}

std::atomic<std::int64_t> next_number{1'000'000};

void bare_number(benchmark::State& state) {
  std::int64_t number = 0;
  for (auto _ : state) { benchmark::DoNotOptimize(twice(++number)); }
}
BENCHMARK(bare_number)->Name("guard/bare/number");

void hit_number(benchmark::State& state) {
  static const auto guarded = hapax::idempotent("hit_number", options(shared_memory()), twice);
  std::int64_t number = state.thread_index() * 1000;
  for (std::int64_t each = 0; each < 1000; ++each) { benchmark::DoNotOptimize(guarded(number + each)); }
  std::int64_t turn = 0;
  for (auto _ : state) { benchmark::DoNotOptimize(guarded(number + (++turn % 1000))); }
}
BENCHMARK(hit_number)->Name("guard/memory/hit/number")->ThreadRange(1, 8)->UseRealTime();

void first_number(benchmark::State& state) {
  static const auto guarded = hapax::idempotent("first_number", options(shared_memory()), twice);
  for (auto _ : state) { benchmark::DoNotOptimize(guarded(next_number.fetch_add(1, std::memory_order_relaxed))); }
}
BENCHMARK(first_number)->Name("guard/memory/first/number")->ThreadRange(1, 8)->UseRealTime();

// The store is full, so each new record replaces another.
void first_full(benchmark::State& state) {
  constexpr std::int64_t most = 20'000;
  static const auto guarded =
      hapax::idempotent("first_full", options(hapax::memory_guard_store({.max_records = most})), twice);
  for (std::int64_t each = 0; each < 2 * most; ++each) { benchmark::DoNotOptimize(guarded(next_number.fetch_add(1))); }
  for (auto _ : state) { benchmark::DoNotOptimize(guarded(next_number.fetch_add(1, std::memory_order_relaxed))); }
}
BENCHMARK(first_full)->Name("guard/memory/first/full");

void bare_struct(benchmark::State& state) {
  const Order order{"A-1000017", 9950};
  for (auto _ : state) { benchmark::DoNotOptimize(invoice(order)); }
}
BENCHMARK(bare_struct)->Name("guard/bare/struct");

void hit_struct(benchmark::State& state) {
  static const auto guarded = hapax::idempotent("hit_struct", options(shared_memory()), invoice);
  const Order order{"A-1000017", 9950};
  for (auto _ : state) { benchmark::DoNotOptimize(guarded(order)); }
}
BENCHMARK(hit_struct)->Name("guard/memory/hit/struct");

void first_struct(benchmark::State& state) {
  static const auto guarded = hapax::idempotent("first_struct", options(shared_memory()), invoice);
  Order order{"A-1000017", 0};
  for (auto _ : state) {
    order.cents = next_number.fetch_add(1, std::memory_order_relaxed);
    benchmark::DoNotOptimize(guarded(order));
  }
}
BENCHMARK(first_struct)->Name("guard/memory/first/struct");

// ---- Files -------------------------------------------------------------------------------------------------------

class Folder {
 public:
  Folder() {
    if (::mkdtemp(path_.data()) == nullptr) { throw std::runtime_error("no folder for the benchmark"); }
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::current_path() / "hapax-guard-bench.XXXXXX").string();
};

void require(bool done) {
  if (!done) { throw std::runtime_error("a file operation of the benchmark failed"); }
}

// One durable write of a small file: the least that begin and finish can cost.
void write_durably(const std::string& folder, const std::string& name) {
  static const std::string text(256, 'x');
  const std::string path = folder + "/" + name;
  const std::string temporary = path + ".tmp";
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  require(file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  require(::fdatasync(file) == 0 && ::close(file) == 0);
  require(std::rename(temporary.c_str(), path.c_str()) == 0);
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  require(directory >= 0 && ::fsync(directory) == 0 && ::close(directory) == 0);
}

void raw_two_writes(benchmark::State& state) {
  const Folder folder;
  std::int64_t number = 0;
  for (auto _ : state) {
    const std::string name = std::to_string(++number);
    write_durably(folder.path(), name);
    write_durably(folder.path(), name);
  }
}
BENCHMARK(raw_two_writes)->Name("guard/file/raw/two_durable_writes")->UseRealTime();

void file_first(benchmark::State& state) {
  const Folder folder;
  const auto guarded = hapax::idempotent("file_first", options(hapax::file_guard_store(folder.path())), twice);
  std::int64_t number = 0;
  for (auto _ : state) { benchmark::DoNotOptimize(guarded(++number)); }
}
BENCHMARK(file_first)->Name("guard/file/first")->UseRealTime();

void raw_read(benchmark::State& state) {
  const Folder folder;
  write_durably(folder.path(), "record");
  const std::string path = folder.path() + "/record";
  std::string text(2048, '\0');
  for (auto _ : state) {
    const int file = ::open(path.c_str(), O_RDONLY);
    require(file >= 0 && ::read(file, text.data(), text.size()) > 0 && ::close(file) == 0);
    benchmark::DoNotOptimize(text.data());
  }
}
BENCHMARK(raw_read)->Name("guard/file/raw/read");

void file_hit(benchmark::State& state) {
  const Folder folder;
  const auto guarded = hapax::idempotent("file_hit", options(hapax::file_guard_store(folder.path())), twice);
  for (auto _ : state) { benchmark::DoNotOptimize(guarded(21)); }
}
BENCHMARK(file_hit)->Name("guard/file/hit");

void cached_hit(benchmark::State& state) {
  const Folder folder;
  hapax::GuardOptions cached = options(hapax::file_guard_store(folder.path()));
  cached.cache_records = 1000;
  cached.cache_for = 24h;
  const auto guarded = hapax::idempotent("cached_hit", cached, twice);
  for (auto _ : state) { benchmark::DoNotOptimize(guarded(21)); }
}
BENCHMARK(cached_hit)->Name("guard/file/hit/cached");

}  // namespace
