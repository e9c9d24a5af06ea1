#include "base/json_text.hpp"
#include "base/json_view.hpp"

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

TEST(JsonView, ARequestsErrorsNameTheMember) {
  const auto refused = [](const auto& read) -> std::string {
    try {
      const JsonView body(R"({"limit":"7","ids":1,"at":null})", {"limit", "ids", "at"});
      read(body);
    } catch (const InvalidArgument& error) { return error.field(); }
    return "";
  };
  EXPECT_EQ(refused([](const JsonView& body) { (void)body.integer("limit"); }), "limit");
  EXPECT_EQ(refused([](const JsonView& body) { (void)body.number("limit"); }), "limit");
  EXPECT_EQ(refused([](const JsonView& body) { (void)body.duration("limit"); }), "limit");
  EXPECT_EQ(refused([](const JsonView& body) { (void)body.find_text("ids"); }), "ids");
  EXPECT_EQ(refused([](const JsonView& body) { (void)body.items("ids"); }), "ids");
  EXPECT_EQ(refused([](const JsonView& body) { (void)body.require_text("at", "now"); }), "at");
  EXPECT_EQ(refused([](const JsonView& body) { EXPECT_FALSE(body.find_text("at")); }), "");
  EXPECT_THROW((void)JsonView(R"({"limits":1})", {"limit"}), InvalidArgument);
  EXPECT_THROW((void)JsonView("{", {"limit"}), InvalidJson);
  EXPECT_FALSE(JsonView(" ", {"limit"}).has("limit"));
}

TEST(JsonView, AnAnswerOfAnotherShapeIsABadAnswer) {
  const JsonView answer(R"({"id":"x","run":"1","big":3000000000,"later":true,"none":null})");
  EXPECT_THROW((void)answer.uuid("id"), BadAnswer);
  EXPECT_THROW((void)answer.integer("run"), BadAnswer);
  EXPECT_THROW((void)answer.number("run"), BadAnswer);
  EXPECT_THROW((void)answer.items("run"), BadAnswer);
  EXPECT_THROW((void)answer.small("big"), BadAnswer);
  EXPECT_EQ(answer.small("none", 7), 7);
  EXPECT_EQ(answer.text("none"), "");
  EXPECT_TRUE(answer.flag("later"));
  EXPECT_THROW((void)JsonView("[]"), BadAnswer);
}

}  // namespace
}  // namespace hapax::base
