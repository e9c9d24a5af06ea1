#include <hapax/error.hpp>

#include "base/json.hpp"

#include <gtest/gtest.h>

namespace hapax::base {
namespace {

TEST(CanonicalJson, GivesTheExampleOfRfc8785Section322) {
  EXPECT_EQ(canonical_json(R"({
              "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
              "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
              "literals": [null, true, false]
            })"),
            R"({"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],)"
            R"("string":"€$\u000f\nA'B\"\\\\\"/"})");
}

TEST(CanonicalJson, SortsKeysAsRfc8785Section323) {
  EXPECT_EQ(canonical_json(R"({
              "\u20ac": "Euro Sign",
              "\r": "Carriage Return",
              "\ufb33": "Hebrew Letter Dalet With Dagesh",
              "1": "One",
              "\ud83d\ude00": "Emoji: Grinning Face",
              "\u0080": "Control",
              "\u00f6": "Latin Small Letter O With Diaeresis"
            })"),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\","
            "\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\","
            "\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}");
}

TEST(CanonicalJson, SortsKeysByUtf16EverywhereAndShorterOnesFirst) {
  EXPECT_EQ(canonical_json(R"({"ab":1,"a":2,"":3,"B":4,"aa":5})"), R"({"":3,"B":4,"a":2,"aa":5,"ab":1})");
  EXPECT_EQ(
      canonical_json(R"({"x\ue000":1,"x\ud800\udc00":2,"x\ud7ff":3,"x\uffff":4,"x\udbff\udfff":5})"),
      "{\"x\xed\x9f\xbf\":3,\"x\xf0\x90\x80\x80\":2,\"x\xf4\x8f\xbf\xbf\":5,\"x\xee\x80\x80\":1,\"x\xef\xbf\xbf\":4}");
}

TEST(CanonicalJson, KeyOrderWhiteSpaceEscapesAndNumberSpellingDoNotMatter) {
  const std::string expected = R"({"a":"A/","b":[1,100,0,0],"c":{"d":null}})";
  EXPECT_EQ(canonical_json(R"({"a":"A/","b":[1,100,0,0],"c":{"d":null}})"), expected);
  EXPECT_EQ(canonical_json(R"( { "c" : { "d" : null } , "b" : [ 1.0 , 1e2 , -0 , -0.0 ] , "\u0061" : "\u0041\/" } )"),
            expected);
}

TEST(CanonicalJson, ArraysKeepTheirOrder) { EXPECT_EQ(canonical_json("[3, 1, 2, []]"), "[3,1,2,[]]"); }

TEST(CanonicalJson, IntegersUpTo64BitsAreExact) {
  EXPECT_EQ(canonical_json("9007199254740992"), "9007199254740992");
  EXPECT_EQ(canonical_json("9007199254740993"), "9007199254740993");
  EXPECT_EQ(canonical_json("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(canonical_json("-9223372036854775808"), "-9223372036854775808");
}

TEST(CanonicalJson, OtherNumbersAreWrittenAsEcmascriptDoes) {
  EXPECT_EQ(canonical_json("1e20"), "100000000000000000000");
  EXPECT_EQ(canonical_json("1e21"), "1e+21");
  EXPECT_EQ(canonical_json("0.000001"), "0.000001");
  EXPECT_EQ(canonical_json("0.0000001"), "1e-7");
  EXPECT_EQ(canonical_json("1e-400"), "0");
  EXPECT_EQ(canonical_json("-1.50"), "-1.5");
}

TEST(CanonicalJson, IsItsOwnCanonicalForm) {
  for (const char* const text :
       {R"({"b":[1.5,{"z":1,"y":"\u0007"}],"a":1e300})", "\"\\ud83d\\ude00\"", "[[[]]]", "{}"}) {
    const std::string once = canonical_json(text);
    EXPECT_EQ(canonical_json(once), once);
  }
}

TEST(CanonicalJson, GoesAsDeepAsJsonMay) {
  const std::string deep = std::string(64, '[') + std::string(64, ']');
  EXPECT_EQ(canonical_json(deep), deep);
}

TEST(CanonicalJson, RefusesWhatTheDoorRefuses) {
  try {
    (void)canonical_json(R"({"a":1,"a":2})", "arguments");
    FAIL() << "duplicate keys were taken";
  } catch (const InvalidJson& error) {
    EXPECT_EQ(error.field(), "arguments");
    EXPECT_EQ(error.byte_offset(), 7U);
  }
}

}  // namespace
}  // namespace hapax::base
