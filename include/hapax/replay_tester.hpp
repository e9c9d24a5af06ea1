// ReplayTester: checks whether workflow code fits the journals of runs that have not ended.
//
//   hapax::testing::ReplayTester tester;
//   tester.handle(process_order, process_order_function);
//   for (const auto& path : std::filesystem::directory_iterator("journals")) {   // made by `hapax journal export`
//     auto report = tester.replay(read(path));
//     ASSERT_TRUE(report.fits) << report.reason;
//   }
//
// The tester replays each journal with the given function, in memory. A replay runs no steps, sends no tasks and
// records nothing.
#pragma once

#include <hapax/testing.hpp>

#include <string>
#include <utility>

namespace hapax::testing {

// The answer to one replay.
struct ReplayReport {
  bool fits = false;
  std::string reason{};  // when it does not fit: what the journal has and what the code asks for
  std::string workflow{};
  int entries = 0;  // in the journal
};

// A value that the test owns. One thread may use it.
class ReplayTester {
 public:
  template <class In, class Out, class Fn>
  void handle(const Workflow<In, Out>& workflow, Fn fn) {
    app_.handle(workflow, std::move(fn));
  }

  // Replays one exported journal. Throws InvalidArgument for text that is not one, and NotFound for a workflow that has
  // no function here.
  [[nodiscard]] ReplayReport replay(const std::string& journal_json);

 private:
  App app_ = open();
};

}  // namespace hapax::testing
