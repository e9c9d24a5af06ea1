// cron_oracle [--cases N] [--seed N] [--threads N] [--case N]: compares N random cases of the timetable with the
// brute-force scan and prints a line of progress. Exits with 1 at the first disagreement and prints what reproduces it.
// --case runs that one case of the seed.
#include "schedule/cron/cases.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using hapax::cron_oracle::CaseId;
using hapax::cron_oracle::check_case;
using hapax::cron_oracle::Verdict;
using hapax::cron_oracle::World;

struct Options {
  std::uint64_t cases = 1'000'000;
  std::uint64_t seed = 1;
  std::uint64_t threads = std::thread::hardware_concurrency();
  std::optional<std::uint64_t> only;
};

[[noreturn]] void usage() {
  std::fputs("usage: cron_oracle [--cases N] [--seed N] [--threads N] [--case N]\n", stderr);
  std::exit(64);
}

Options read_options(int count, char** words) {
  Options options;
  for (int index = 1; index < count; index += 2) {
    const std::string_view name = words[index];
    if (index + 1 == count) { usage(); }
    const std::string_view text = words[index + 1];
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size()) { usage(); }
    if (name == "--cases") {
      options.cases = value;
    } else if (name == "--seed") {
      options.seed = value;
    } else if (name == "--threads" && value >= 1 && value <= 256) {
      options.threads = value;
    } else if (name == "--case") {
      options.only = value;
    } else {
      usage();
    }
  }
  return options;
}

class Run {
 public:
  explicit Run(const Options& options) : options_(options) {}

  int all() {
    const auto begun = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (std::uint64_t index = 0; index < std::max<std::uint64_t>(1, options_.threads); ++index) {
      threads.emplace_back([this] { work(); });
    }
    std::thread teller([this] { tell_progress(); });
    for (std::thread& thread : threads) { thread.join(); }
    over_ = true;
    teller.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    const auto done = static_cast<double>(done_.load());
    std::printf(
        "cron_oracle: seed %llu, %llu cases (%llu around a shift, %llu never fire), %llu ticks, %.1f s, %.0f "
        "cases/s: %s\n",
        number(options_.seed), number(done_), number(at_shift_), number(never_), number(ticks_), took.count(),
        done / std::max(took.count(), 1e-9), failed_ ? "DISAGREE" : "all agree");
    return failed_ ? 1 : 0;
  }

  int one(std::uint64_t case_number) {
    look({.seed = options_.seed, .number = case_number});
    if (!failed_) { std::printf("case %llu agrees, %llu ticks\n", number(case_number), number(ticks_)); }
    return failed_ ? 1 : 0;
  }

 private:
  static unsigned long long number(std::uint64_t value) { return value; }

  void work() {
    while (!failed_) {
      const std::uint64_t next = next_++;
      if (next >= options_.cases) { return; }
      look({.seed = options_.seed, .number = next});
    }
  }

  void look(const CaseId& id) {
    Verdict verdict;
    try {
      verdict = check_case(world_, id);
    } catch (const std::exception& error) {
      verdict.disagreement = std::string("threw ") + error.what() + "\n  again: cron_oracle --seed " +
                             std::to_string(id.seed) + " --case " + std::to_string(id.number);
    }
    ++done_;
    ticks_ += verdict.ticks;
    at_shift_ += verdict.at_shift ? 1 : 0;
    never_ += verdict.never ? 1 : 0;
    if (verdict.disagreement) {
      const std::lock_guard lock(printing_);
      failed_ = true;
      std::printf("cron_oracle: %s\n", verdict.disagreement->c_str());
    }
  }

  void tell_progress() {
    auto next = std::chrono::steady_clock::now() + 10s;
    while (!over_) {
      std::this_thread::sleep_for(50ms);
      if (std::chrono::steady_clock::now() < next) { continue; }
      next += 10s;
      std::fprintf(stderr, "cron_oracle: %llu of %llu cases\n", number(done_), number(options_.cases));
    }
  }

  const Options options_;
  const World world_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> ticks_{0};
  std::atomic<std::uint64_t> at_shift_{0};
  std::atomic<std::uint64_t> never_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> over_{false};
  std::mutex printing_;
};

}  // namespace

int main(int count, char** words) {
  const Options options = read_options(count, words);
  Run run(options);
  return options.only ? run.one(*options.only) : run.all();
}
