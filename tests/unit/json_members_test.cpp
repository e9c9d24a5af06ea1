#include "base/json_text.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>

namespace hapax::base {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST(JsonMembers, SlicesKeepTheirBytes) {
  const auto members = checked_members(R"( { "input" : {"a": [1, "}"]} , "queue":"q" } )");
  ASSERT_THAT(members, SizeIs(2));
  EXPECT_EQ(members[0].name, "input");
  EXPECT_EQ(members[0].value, R"({"a": [1, "}"]})");
  EXPECT_EQ(members[1].text(), "q");
}

TEST(JsonMembers, StringsAreReadWithAndWithoutEscapes) {
  const auto members = checked_members(R"({"plain":"Zürich, 100 %","escaped":"a\"b\\c\u00e9\ud83d\ude00\n","":""})");
  ASSERT_THAT(members, SizeIs(3));
  EXPECT_EQ(members[0].text(), "Zürich, 100 %");
  EXPECT_EQ(members[1].text(), "a\"b\\cé😀\n");
  EXPECT_EQ(members[2].name, "");
  EXPECT_EQ(members[2].text(), "");
}

TEST(JsonMembers, NamesMayBeEscapedToo) {
  EXPECT_EQ(checked_members(R"({"\u0071ueue":1})").front().name, "queue");
  EXPECT_EQ(checked_members(R"({"a\"b":1})").front().name, "a\"b");
}

TEST(JsonMembers, AnotherTypeIsRefusedByName) {
  for (const char* value : {"7", "null", "true", "[\"a\"]", "{\"a\":1}"}) {
    const std::string text = std::string(R"({"queue":)") + value + "}";
    try {
      (void)checked_members(text).front().text();
      FAIL() << value;
    } catch (const InvalidArgument& error) { EXPECT_EQ(error.field(), "queue"); }
  }
  EXPECT_THROW((void)checked_members("[1]"), InvalidArgument);
  EXPECT_THROW((void)checked_members(""), InvalidArgument) << "a request without a body";
  EXPECT_THAT(checked_members(R"({"tags":["a","\u0062"]})").front().texts(), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace hapax::base
