// Programs killed at every place of their journals, and finished by other processes.
#include "workflow/driver.hpp"
#include "workflow/interpreter.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace hapax::generated {

namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

// False, and all that is to be said, when something was wrong.
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

// HAPAX_WORKFLOW_SEED alone is that one program.
Range programs(std::uint64_t usual) {
  const bool one = std::getenv("HAPAX_WORKFLOW_SEED") != nullptr;
  return {.count = number_from("HAPAX_WORKFLOW_PROGRAMS", one ? 1 : usual)};
}

constexpr int failures_shown = 3;

// Most are small, so that many are quick; each small one has its place in some large one.
int size_of(std::uint64_t seed) { return seed % 10 == 0 ? 8 : 2; }

TEST(Crashes, WithoutAny) {
  const Range range = programs(1000);
  int bad = 0;
  for (std::uint64_t seed = range.first; seed < range.end() && bad < failures_shown; ++seed) {
    const auto program = generate(seed, size_of(seed));
    const auto plan = no_deaths();
    if (!holds(play(memory_stage(), program, "p", *plan), *program, "no deaths")) { ++bad; }
    EXPECT_EQ(live_scopes(), 0);
  }
}

TEST(Crashes, Once) {
  const Range range = programs(100);
  int bad = 0;
  for (std::uint64_t seed = range.first; seed < range.end() && bad < failures_shown; ++seed) {
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
    EXPECT_EQ(live_scopes(), 0);
  }
}

TEST(Crashes, Everywhere) {
  const Range range = programs(10000);
  int bad = 0;
  long processes = 0;
  for (std::uint64_t seed = range.first; seed < range.end() && bad < failures_shown; ++seed) {
    const auto program = generate(seed, size_of(seed));
    const auto plan = deaths_everywhere(seed);
    const Report report = play(memory_stage(), program, "p", *plan);
    processes += report.processes;
    if (!holds(report, *program, "dies everywhere")) { ++bad; }
    EXPECT_EQ(live_scopes(), 0);
  }
  std::cout << range.count << " programs, " << processes << " processes, " << put_aside_in_catch()
            << " put aside in catch blocks\n";
}

}  // namespace

}  // namespace hapax::generated
