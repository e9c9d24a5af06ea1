#include "base/fault.hpp"

#include <hapax/error.hpp>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace hapax::base {
namespace {

class Fault : public testing::Test {
 protected:
  ~Fault() override { arm_faults(""); }
};

using FaultDeathTest = Fault;

TEST_F(Fault, NothingHappensWhenNoneIsArmed) {
  arm_faults("");
  EXPECT_NO_THROW(fault_point("anything"));
}

TEST_F(Fault, ThrowStrikesAtTheFirstPassOnceWhenNoNumberIsGiven) {
  arm_faults("here=throw");
  EXPECT_THROW(fault_point("here"), FaultInjected);
  EXPECT_NO_THROW(fault_point("here"));
}

TEST_F(Fault, StrikesAtTheNumberedPassOnly) {
  arm_faults("here=throw@3");
  EXPECT_NO_THROW(fault_point("here"));
  EXPECT_NO_THROW(fault_point("elsewhere"));
  EXPECT_NO_THROW(fault_point("here"));
  EXPECT_THROW(fault_point("here"), FaultInjected);
  EXPECT_NO_THROW(fault_point("here"));
}

TEST_F(Fault, SeveralPointsAreCountedApart) {
  arm_faults("one=throw@2,two=throw,one=throw@4");
  EXPECT_NO_THROW(fault_point("one"));
  EXPECT_THROW(fault_point("two"), FaultInjected);
  EXPECT_THROW(fault_point("one"), FaultInjected);
  EXPECT_NO_THROW(fault_point("one"));
  EXPECT_THROW(fault_point("one"), FaultInjected);
}

TEST_F(Fault, ArmingAgainReplacesWhatWasArmed) {
  arm_faults("here=throw");
  arm_faults("there=throw");
  EXPECT_NO_THROW(fault_point("here"));
  EXPECT_THROW(fault_point("there"), FaultInjected);
}

TEST_F(Fault, WhatIsNoFaultIsRefused) {
  for (const char* const text : {"here", "=kill", "here=", "here=explode", "here=kill@", "here=kill@0", "here=kill@x",
                                 "here=kill@1x", "here=kill,,there=kill"}) {
    EXPECT_THROW(arm_faults(text), InvalidArgument) << text;
  }
}

TEST_F(FaultDeathTest, KillEndsTheProcess) {
  EXPECT_EXIT(
      {
        arm_faults("here=kill@2");
        fault_point("here");
        fault_point("here");
        _exit(0);
      },
      testing::KilledBySignal(SIGKILL), "");
}

TEST_F(FaultDeathTest, StopHaltsTheProcessUntilItIsContinued) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    arm_faults("here=stop");
    fault_point("here");
    _exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(WIFSTOPPED(status));
  kill(child, SIGCONT);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

// The threadsafe style starts the test program again, so that it reads the environment.
TEST_F(FaultDeathTest, IsArmedByTheEnvironment) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("HAPAX_FAULT", "here=kill", 1);
  EXPECT_EXIT(
      {
        fault_point("here");
        _exit(0);
      },
      testing::KilledBySignal(SIGKILL), "");
  unsetenv("HAPAX_FAULT");
}

TEST_F(FaultDeathTest, AMisspeltEnvironmentEndsTheProgramAtItsStart) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("HAPAX_FAULT", "here=kil", 1);
  EXPECT_EXIT(_exit(0), testing::ExitedWithCode(78), "HAPAX_FAULT: 'here=kil' is not a fault");
  unsetenv("HAPAX_FAULT");
}

}  // namespace
}  // namespace hapax::base
