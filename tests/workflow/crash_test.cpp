// Programs whose processes are killed at every place of their journals, and which other processes finish.
//
// 10,000 programs in memory and 300 on SQLite die at each of their writes (every advance, outcome and cancellation, and
// some claims). For each write the seed draws whether the process dies before the write takes effect or after. If
// before, the next process repeats the write and lives until the following one. So one run of a program visits every
// place, and each process replays what all earlier ones have recorded. The first 60 programs are also run once for each
// place and each side of it, with one death per run.
//
// HAPAX_WORKFLOW_SEED=n runs that program alone; HAPAX_WORKFLOW_PROGRAMS=m runs m programs from there (or from 1).
#include "base/uuid7.hpp"
#include "workflow/driver.hpp"
#include "workflow/interpreter.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>

namespace hapax::generated {

namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

// Returns false, and reports every problem, if the report has any.
bool holds(const Report& report, const Program& program, const std::string& how) {
  if (report.problems.empty()) { return true; }
  std::string text;
  for (const std::string& problem : report.problems) { text += "  " + problem + "\n"; }
  ADD_FAILURE() << "HAPAX_WORKFLOW_SEED=" << program.seed << ", " << how << ":\n" << text << to_string(program);
  return false;
}

struct Range {
  std::uint64_t first = number_from("HAPAX_WORKFLOW_SEED", 1);
  std::uint64_t count = 0;
  [[nodiscard]] std::uint64_t end() const { return first + count; }
};

// HAPAX_WORKFLOW_SEED alone selects one program.
Range programs(std::uint64_t usual) {
  const bool one = std::getenv("HAPAX_WORKFLOW_SEED") != nullptr;
  return {.count = number_from("HAPAX_WORKFLOW_PROGRAMS", one ? 1 : usual)};
}

constexpr int failures_shown = 3;

// The full numbers run without sanitizers only (process test workflow.programs); with sanitizers they would take
// minutes.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t in_memory = 1000;
constexpr std::uint64_t on_sqlite = 60;
#else
constexpr std::uint64_t in_memory = 10000;
constexpr std::uint64_t on_sqlite = 300;
#endif

// Most programs are small, so that many run quickly; a large program contains the shapes of the small ones.
int size_of(std::uint64_t seed) { return seed % 16 == 0 ? 8 : 2; }

void expect_nothing_left() { EXPECT_EQ(live_scopes(), 0) << "something lives on a stack that was left"; }

TEST(Crashes, WithoutAny) {
  const Range range = programs(500);
  int bad = 0;
  for (std::uint64_t seed = range.first; seed < range.end() && bad < failures_shown; ++seed) {
    const auto program = generate(seed, size_of(seed));
    const auto plan = no_deaths();
    if (!holds(play(memory_stage(), program, "p", *plan), *program, "no deaths")) { ++bad; }
    expect_nothing_left();
  }
}

// For each program, two runs for each write: one death before it, one after it.
TEST(Crashes, AtEachPlaceOnce) {
  const Range range = programs(60);
  int bad = 0;
  for (std::uint64_t seed = range.first; seed < range.end(); ++seed) {
    const auto program = generate(seed, size_of(seed));
    const auto whole = no_deaths();
    const int writes = play(memory_stage(), program, "p", *whole).writes;
    for (int write = 1; write <= writes; ++write) {
      for (const Death death : {Death::before, Death::after}) {
        const auto plan = one_death(write, death);
        const std::string how =
            (death == Death::before ? "dies before write " : "dies after write ") + std::to_string(write);
        if (!holds(play(memory_stage(), program, "p", *plan), *program, how)) { ++bad; }
        if (bad >= failures_shown) { return; }
      }
    }
    expect_nothing_left();
  }
}

void die_everywhere(const Range& range, const std::function<Stage()>& next_stage) {
  int bad = 0;
  long processes = 0;
  const int in_catch = put_aside_in_catch();
  for (std::uint64_t seed = range.first; seed < range.end() && bad < failures_shown; ++seed) {
    const auto program = generate(seed, size_of(seed));
    const auto plan = deaths_everywhere(seed);
    const Report report = play(next_stage(), program, "p" + std::to_string(seed), *plan);
    processes += report.processes;
    if (!holds(report, *program, "dies everywhere")) { ++bad; }
    expect_nothing_left();
  }
  std::cout << range.count << " programs from seed " << range.first << ": " << processes << " processes, "
            << put_aside_in_catch() - in_catch << " times put aside in a catch block\n";
}

TEST(Crashes, EverywhereInMemory) { die_everywhere(programs(in_memory), memory_stage); }

TEST(Crashes, EverywhereOnSqlite) {
  const std::string folder = ::testing::TempDir() + "hapax-crashes-" + base::new_uuid7().to_string();
  std::filesystem::create_directories(folder);
  {
    const Stage stage = sqlite_stage(folder + "/store.db");
    die_everywhere(programs(on_sqlite), [&] { return stage; });
  }
  std::filesystem::remove_all(folder);
}

}  // namespace

}  // namespace hapax::generated
