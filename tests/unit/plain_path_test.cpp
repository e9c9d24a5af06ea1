#include "base/plain_path.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace hapax::base {
namespace {

// Each check runs in a process of its own, as the variable is read once.
int exit_code_with(const char* plain_paths, bool burst, bool gather) {
  setenv("HAPAX_PLAIN_PATHS", plain_paths, 1);
  return takes_plain_path("batch-burst") == burst && takes_plain_path("batch-gather") == gather ? 0 : 1;
}

class PlainPathDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(PlainPathDeathTest, TheEnvironmentNamesThePathsThatAreNotTaken) {
  EXPECT_EXIT(std::exit(exit_code_with("batch-burst", true, false)), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::exit(exit_code_with("batch-gather", false, true)), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::exit(exit_code_with("batch-gather,batch-burst", true, true)), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::exit(exit_code_with("all", true, true)), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::exit(exit_code_with("", false, false)), ::testing::ExitedWithCode(0), "");
}

TEST_F(PlainPathDeathTest, AnUnknownNameEndsTheProcess) {
  EXPECT_EXIT(std::exit(exit_code_with("batch-burst,batch-gathr", true, false)), ::testing::ExitedWithCode(78),
              "HAPAX_PLAIN_PATHS: batch-gathr is no fast path; expected all, engine-born-running, ");
}

}  // namespace
}  // namespace hapax::base
