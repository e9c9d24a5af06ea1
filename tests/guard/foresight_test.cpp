#include "guard/first_call_guess.hpp"

#include <gtest/gtest.h>

namespace hapax::guard {
namespace {

TEST(Foresight, NothingIsExpectedOfAGuardThatIsNew) { EXPECT_FALSE(Foresight().is_likely_new("charge")); }

TEST(Foresight, AfterSomeFirstCallsInARowTheNextIsExpectedToBeOne) {
  Foresight foresight;
  for (int calls = 0; calls < 3; ++calls) {
    foresight.began("charge");
    EXPECT_FALSE(foresight.is_likely_new("charge"));
  }
  foresight.began("charge");
  EXPECT_TRUE(foresight.is_likely_new("charge"));
}

TEST(Foresight, OneCallThatMeetsARecordEndsIt) {
  Foresight foresight;
  for (int calls = 0; calls < 100; ++calls) { foresight.began("charge"); }
  foresight.met("charge");
  EXPECT_FALSE(foresight.is_likely_new("charge"));
  foresight.began("charge");
  EXPECT_FALSE(foresight.is_likely_new("charge"));
}

}  // namespace
}  // namespace hapax::guard
