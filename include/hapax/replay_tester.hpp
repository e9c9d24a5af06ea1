// ReplayTester: does this code fit the journals of runs that are under way? (SPEC W5)
//
//   hapax::testing::ReplayTester tester;
//   tester.handle(process_order, process_order_function);
//   for (const auto& path : std::filesystem::directory_iterator("journals")) {   // made by `hapax journal export`
//     auto report = tester.replay(read(path));
//     ASSERT_TRUE(report.fits) << report.reason;
//   }
//
// Plays each journal with the function given, in memory: steps are not run, tasks are not sent, nothing is recorded.
#pragma once

#include <hapax/testing.hpp>

#include <string>
#include <utility>

namespace hapax::testing {

struct ReplayReport {
  bool fits = false;
  std::string reason{};  // both sides, when it does not
  std::string workflow{};
  int entries = 0;  // of the journal
};

// Used by one thread.
class ReplayTester {
 public:
  template <class In, class Out, class Fn>
  void handle(const Workflow<In, Out>& workflow, Fn fn) {
    app_.handle(workflow, std::move(fn));
  }

  // Throws InvalidArgument for text that is no exported journal, and NotFound for a workflow without a function here.
  [[nodiscard]] ReplayReport replay(const std::string& journal_json);

 private:
  App app_ = open();
};

}  // namespace hapax::testing
