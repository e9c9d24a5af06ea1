#include "guard/first_call_guess.hpp"

#include <gtest/gtest.h>

namespace hapax::guard {
namespace {

TEST(FirstCallGuess, NothingIsExpectedOfAGuardThatIsNew) { EXPECT_FALSE(FirstCallGuess().is_likely_new("charge")); }

TEST(FirstCallGuess, AfterSomeFirstCallsInARowTheNextIsExpectedToBeOne) {
  FirstCallGuess first_call_guess;
  for (int calls = 0; calls < 3; ++calls) {
    first_call_guess.began("charge");
    EXPECT_FALSE(first_call_guess.is_likely_new("charge"));
  }
  first_call_guess.began("charge");
  EXPECT_TRUE(first_call_guess.is_likely_new("charge"));
}

TEST(FirstCallGuess, OneCallThatMeetsARecordEndsIt) {
  FirstCallGuess first_call_guess;
  for (int calls = 0; calls < 100; ++calls) { first_call_guess.began("charge"); }
  first_call_guess.met("charge");
  EXPECT_FALSE(first_call_guess.is_likely_new("charge"));
  first_call_guess.began("charge");
  EXPECT_FALSE(first_call_guess.is_likely_new("charge"));
}

}  // namespace
}  // namespace hapax::guard
