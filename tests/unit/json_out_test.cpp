#include "base/json_out.hpp"

#include <gtest/gtest.h>

namespace hapax::base {
namespace {

TEST(JsonOut, PlainTextStaysAndTheRestIsEscaped) {
  EXPECT_EQ(json_text("charge-order 456 ~"), R"("charge-order 456 ~")");
  EXPECT_EQ(json_text(""), R"("")");
  EXPECT_EQ(json_text("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(json_text("tab\tline\nbell\x07"), R"("tab\tline\nbell\u0007")");
  EXPECT_EQ(json_text("Zürich"), R"("Zürich")");
  EXPECT_EQ(json_text("plain, then \xff broken"), R"("plain, then \\xff broken")");
}

TEST(JsonOut, MembersComeInTheirOrder) {
  JsonObject object;
  object.text("id", "a")
      .boolean("created", true)
      .number("run", std::int64_t{2})
      .raw("result", R"({"x":1})")
      .null("none");
  EXPECT_EQ(object.str(), R"({"id":"a","created":true,"run":2,"result":{"x":1},"none":null})");
  EXPECT_EQ(object.tail().substr(0, 6), R"(,"id":)");
  EXPECT_EQ(JsonObject().str(), "{}");
  EXPECT_EQ(JsonObject().text("a\"b", "x").str(), R"({"a\"b":"x"})");
}

}  // namespace
}  // namespace hapax::base
