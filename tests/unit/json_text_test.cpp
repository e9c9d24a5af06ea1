#include "base/json_text.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"

#include <gtest/gtest.h>

namespace hapax::base {
namespace {

using namespace std::string_view_literals;

std::string unescaped(std::string_view inside) {
  std::string out;
  append_json_unescaped(out, inside);
  return out;
}

TEST(JsonQuote, EscapesOnlyWhatMustBe) {
  EXPECT_EQ(json_quote(""), R"("")");
  EXPECT_EQ(json_quote("plain / Zürich 😀 \x7f"), "\"plain / Zürich 😀 \x7f\"");
  EXPECT_EQ(json_quote("\"\\\b\t\n\f\r"), R"("\"\\\b\t\n\f\r")");
  EXPECT_EQ(json_quote("\x01\x1f\0"sv), R"("\u0001\u001f\u0000")");
}

TEST(JsonQuote, IsJsonWhateverTheBytes) {
  EXPECT_EQ(json_quote("caf\xe9"), R"("caf\\xe9")");
  std::string every_byte;
  for (int byte = 255; byte >= 0; --byte) { every_byte.push_back(static_cast<char>(static_cast<std::uint8_t>(byte))); }
  EXPECT_NO_THROW(check_json(json_quote(every_byte), "input"));
}

TEST(JsonUnescape, UndoesEveryEscape) {
  EXPECT_EQ(unescaped(R"(a\"\\\/\b\f\n\r\tz)"), "a\"\\/\b\f\n\r\tz");
  EXPECT_EQ(unescaped(R"(\u0041\u00e9\u20AC\ud83d\ude00!)"), "Aé€😀!");
  EXPECT_EQ(unescaped(R"(\u0000)"), "\0"sv);
  EXPECT_EQ(unescaped(R"(\\u0041)"), "\\u0041");
}

TEST(JsonMembers, AreTheBytesOfEachValueInOrder) {
  const auto members =
      json_members(R"( { "a" : 1.50 , "b\n" : [1, {"x": "]}"}] ,"c":"q\"" , "d": {} , "e":null } )", "labels");
  ASSERT_EQ(members.size(), 5U);
  EXPECT_EQ(members[0].name, "a");
  EXPECT_EQ(members[0].value, "1.50");
  EXPECT_EQ(members[1].name, "b\n");
  EXPECT_EQ(members[1].value, R"([1, {"x": "]}"}])");
  EXPECT_EQ(members[2].value, R"("q\"")");
  EXPECT_EQ(members[3].value, "{}");
  EXPECT_EQ(members[4].value, "null");
  EXPECT_TRUE(json_members("{}", "labels").empty());
}

TEST(JsonItems, AreTheBytesOfEachValueInOrder) {
  EXPECT_EQ(json_items(R"([1, "a,b" ,[ 2 ], true])", "tags"),
            (std::vector<std::string_view>{"1", R"("a,b")", "[ 2 ]", "true"}));
  EXPECT_TRUE(json_items(" [ ] ", "tags").empty());
}

TEST(JsonString, IsWhatTheLiteralSays) { EXPECT_EQ(json_string(R"( "a\u0041" )", "x"), "aA"); }

TEST(JsonPieces, OtherValuesAreRefused) {
  EXPECT_THROW((void)json_members("[]", "x"), InvalidJson);
  EXPECT_THROW((void)json_items("{}", "x"), InvalidJson);
  EXPECT_THROW((void)json_string("1", "x"), InvalidJson);
  EXPECT_THROW((void)json_members("{", "x"), InvalidJson);
}

}  // namespace
}  // namespace hapax::base
