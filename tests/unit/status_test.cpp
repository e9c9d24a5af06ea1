#include <hapax/status.hpp>

#include <gtest/gtest.h>

namespace hapax {
namespace {

TEST(Status, EachIsWrittenByItsNameAndReadBack) {
  const std::pair<Status, std::string_view> all[] = {
      {Status::pending, "pending"}, {Status::running, "running"},     {Status::completed, "completed"},
      {Status::failed, "failed"},   {Status::cancelled, "cancelled"}, {Status::timed_out, "timed_out"}};
  for (const auto& [status, name] : all) {
    EXPECT_EQ(to_string(status), name);
    EXPECT_EQ(parse_status(name), status);
  }
}

TEST(Status, OtherWordsAreNone) {
  for (const std::string_view word : {"", "Pending", "done", "completed ", "timed-out"}) {
    EXPECT_EQ(parse_status(word), std::nullopt) << word;
  }
}

TEST(Status, ThePersistedValuesStay) {
  EXPECT_EQ(static_cast<int>(Status::pending), 0);
  EXPECT_EQ(static_cast<int>(Status::running), 1);
  EXPECT_EQ(static_cast<int>(Status::completed), 2);
  EXPECT_EQ(static_cast<int>(Status::failed), 3);
  EXPECT_EQ(static_cast<int>(Status::cancelled), 4);
  EXPECT_EQ(static_cast<int>(Status::timed_out), 5);
}

TEST(Status, AllButPendingAndRunningAreTerminal) {
  EXPECT_FALSE(is_terminal(Status::pending));
  EXPECT_FALSE(is_terminal(Status::running));
  EXPECT_TRUE(is_terminal(Status::completed));
  EXPECT_TRUE(is_terminal(Status::failed));
  EXPECT_TRUE(is_terminal(Status::cancelled));
  EXPECT_TRUE(is_terminal(Status::timed_out));
}

}  // namespace
}  // namespace hapax
