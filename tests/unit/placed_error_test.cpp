#include "model/placed_error.hpp"

#include <gtest/gtest.h>

namespace hapax::model {
namespace {

template <class Type>
void expect_placed(const Type& original) {
  try {
    throw_placed("items[3]", original);
  } catch (const Type& error) {
    EXPECT_EQ(error.name(), original.name());
    EXPECT_EQ(error.field(), "items[3]");
    EXPECT_EQ(std::string(error.what()), "items[3]: " + std::string(original.what()));
  }
}

TEST(PlacedError, KeepsTypeAndNameAndTellsThePlace) {
  expect_placed(InvalidArgument("priority", "is out of range"));
  expect_placed(PayloadTooLarge("input", 7, 5));
  expect_placed(InvalidIdempotencyKey("is empty"));
  expect_placed(IdempotencyKeyRequired("charge"));
  expect_placed(InvalidJson("input", "expected a JSON value", 9));
}

TEST(PlacedError, KeepsWhatTheTypeKnows) {
  try {
    throw_placed("events[0]", InvalidJson("event", "expected a JSON value", 9));
  } catch (const InvalidJson& error) { EXPECT_EQ(error.byte_offset(), 9U); }
}

}  // namespace
}  // namespace hapax::model
