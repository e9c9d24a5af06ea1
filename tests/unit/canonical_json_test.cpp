#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/sha256.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

namespace hapax::base {
namespace {

// Canonical forms go into stored identities, so nothing that is expected here ever changes. Where RFC 8785 is silent,
// the bytes were made by Node, which sorts and writes as the RFC asks:
//   const canonical = v => Array.isArray(v) ? '[' + v.map(canonical) + ']' : v && typeof v == 'object' ?
//     '{' + Object.keys(v).sort().map(k => JSON.stringify(k) + ':' + canonical(v[k])) + '}' : JSON.stringify(v)
struct Golden {
  std::string_view text;
  std::string_view canonical;
};

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

// Every 97th character of Unicode at the head of a key, from the last to the first and spelt as escapes; the digest is
// of what Node makes of the same object.
TEST(CanonicalJson, SortsKeysFromAllOfUnicodeAsNodeDoes) {
  std::string text = "{";
  for (std::uint32_t left = 0x10FFFF / 97 + 1; left > 0; --left) {
    const std::uint32_t point = (left - 1) * 97;
    if (point >= 0xD800 && point < 0xE000) { continue; }
    char escaped[16];
    if (point < 0x10000) {
      std::snprintf(escaped, sizeof(escaped), "\\u%04X", point);
    } else {
      std::snprintf(escaped, sizeof(escaped), "\\u%04x\\u%04x", 0xD800 + ((point - 0x10000) >> 10),
                    0xDC00 + ((point - 0x10000) & 0x3FF));
    }
    text += (text.size() > 1 ? ",\"" : "\"") + std::string(escaped) + "x\":" + std::to_string(point);
  }
  const std::string canonical = canonical_json(text + "}");
  EXPECT_EQ(canonical.size(), 171'350U);
  EXPECT_EQ(to_hex(sha256(canonical)), "b8e9910e13b44b523df7a5b7818ffd119c97c686b66eb80964e81a9408489068");
}

TEST(CanonicalJson, SortsDigitsAsTextAndEveryLevelByItself) {
  EXPECT_EQ(canonical_json(R"({"10":0,"9":{"b":[{"d":1,"c":2}],"a":3},"1":4,"\u0000":5,"":6,"\n":7})"),
            R"({"":6,"\u0000":5,"\n":7,"1":4,"10":0,"9":{"a":3,"b":[{"c":2,"d":1}]}})");
}

TEST(CanonicalJson, ControlCharactersHaveOneSpellingEach) {
  const std::string_view spelt[] = {"\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006",
                                    "\\u0007", "\\b",     "\\t",     "\\n",     "\\u000b", "\\f",     "\\r",
                                    "\\u000e", "\\u000f", "\\u0010", "\\u0011", "\\u0012", "\\u0013", "\\u0014",
                                    "\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019", "\\u001a", "\\u001b",
                                    "\\u001c", "\\u001d", "\\u001e", "\\u001f"};
  for (std::size_t control = 0; control < 0x20; ++control) {
    const std::string expected = "\"" + std::string(spelt[control]) + "\"";
    for (const char* const format : {"\"\\u%04x\"", "\"\\u%04X\""}) {
      char text[16];
      std::snprintf(text, sizeof(text), format, static_cast<unsigned>(control));
      EXPECT_EQ(canonical_json(text), expected) << text;
    }
    EXPECT_EQ(canonical_json(expected), expected);
  }
}

TEST(CanonicalJson, EverythingElseInAStringIsItself) {
  constexpr Golden strings[] = {
      {R"("\u0022\u005c\u002F\/")", R"("\"\\//")"},
      {R"("\u0020\u007e\u007f\u0080\u00a0")", "\" ~\x7f\xc2\x80\xc2\xa0\""},
      {R"("<\/script>\u0026\u2028\u2029\ufeff")", "\"</script>&\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf\""},
      {R"("\u20AC\u20ac€")", R"("€€€")"},
      {R"("\uD83D\uDE00\ud83d\ude00😀")", R"("😀😀😀")"},
      {R"("\ud800\udc00\uDBFF\uDFFF\ufffd\uffff")", "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xef\xbf\xbd\xef\xbf\xbf\""},
  };
  for (const Golden& row : strings) {
    EXPECT_EQ(canonical_json(row.text), row.canonical) << row.text;
    EXPECT_EQ(canonical_json("{" + std::string(row.text) + ":1}"), "{" + std::string(row.canonical) + ":1}");
  }
}

// RFC 8785 leaves characters as they came: e with an accent and e followed by one are different texts.
TEST(CanonicalJson, CharactersAreNotComposed) {
  EXPECT_EQ(canonical_json(R"("\u00e9")"), "\"\xc3\xa9\"");
  EXPECT_EQ(canonical_json(R"("e\u0301")"), "\"e\xcc\x81\"");
}

TEST(CanonicalJson, IntegersUpTo64BitsAreExact) {
  for (const std::string_view text :
       {"0", "1", "-1", "10", "9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993",
        "9223372036854775807", "9223372036854775808", "18446744073709551614", "18446744073709551615",
        "-9223372036854775807", "-9223372036854775808", "10000000000000000000"}) {
    EXPECT_EQ(canonical_json(text), text);
  }
  EXPECT_EQ(canonical_json("-0"), "0");
}

TEST(CanonicalJson, OneNumberHasOneSpelling) {
  for (const std::string_view text : {"1", "1.0", "1e0", "1E0", "1e+0", "1e-0", "10e-1", "0.1e1", "1.000e00"}) {
    EXPECT_EQ(canonical_json(text), "1") << text;
  }
  for (const std::string_view text : {"0", "-0", "0.0", "-0.0", "0e9", "-0e5", "1e-400", "-1e-400", "5e-325"}) {
    EXPECT_EQ(canonical_json(text), "0") << text;
  }
  for (const std::string_view text : {"100", "1e2", "1E+2", "100.00", "0.1e3"}) {
    EXPECT_EQ(canonical_json(text), "100") << text;
  }
}

TEST(CanonicalJson, OtherNumbersAreWrittenAsEcmascriptDoes) {
  constexpr Golden numbers[] = {
      {"-1.50", "-1.5"},
      {"0.1", "0.1"},
      {"4.35", "4.35"},
      {"123e-20", "1.23e-18"},
      {"0.000001", "0.000001"},
      {"9.5e-7", "9.5e-7"},
      {"0.0000001", "1e-7"},
      {"-1E-7", "-1e-7"},
      {"1e19", "10000000000000000000"},
      {"1e20", "100000000000000000000"},
      {"123456789012345680000.0", "123456789012345680000"},
      {"1e21", "1e+21"},
      {"999999999999999999999.0", "1e+21"},
      {"1e23", "1e+23"},
      {"5e-324", "5e-324"},
      {"2.4703282292062328e-324", "5e-324"},
      {"2.2250738585072014e-308", "2.2250738585072014e-308"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"},
  };
  for (const Golden& row : numbers) { EXPECT_EQ(canonical_json(row.text), row.canonical) << row.text; }
}

// Above 2^53 an integer is its digits, and a number with a point or an exponent is the double it stands for, in the
// shortest digits. So 2^63 as a double is what both nlohmann (9.223372036854776e+18) and JavaScript
// (9223372036854776000) send for it, and not the integer 2^63.
TEST(CanonicalJson, LargeWholeDoublesAreTheirShortestDigits) {
  constexpr Golden numbers[] = {
      {"9007199254740992.0", "9007199254740992"},       {"9007199254740993.0", "9007199254740992"},
      {"9223372036854775808.0", "9223372036854776000"}, {"9.223372036854776e+18", "9223372036854776000"},
      {"9223372036854776000", "9223372036854776000"},   {"18446744073709551616.0", "18446744073709552000"},
  };
  for (const Golden& row : numbers) { EXPECT_EQ(canonical_json(row.text), row.canonical) << row.text; }
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

struct Refused {
  std::string_view text;
  std::string_view reason;
  std::size_t offset;
};

TEST(CanonicalJson, RefusesWhatHasNoOneCanonicalForm) {
  constexpr Refused rows[] = {
      {R"({"a":1,"a":2})", "duplicate key", 7},
      {R"({"a":1,"\u0061":2})", "duplicate key", 7},
      {R"([{"\uD83D\uDE00":1,"😀":1}])", "duplicate key", 19},
      {R"("\ud800")", "lone surrogate", 1},
      {R"({"\udc00":1})", "lone surrogate", 2},
      {"\"\xed\xa0\x80\"", "invalid UTF-8", 1},
      {"[NaN]", "expected a JSON value", 1},
      {"-Infinity", "expected a JSON value", 0},
      {"1e400", "too large for a double", 0},
      {"[-1e400]", "too large for a double", 1},
      {"18446744073709551616", "does not fit 64 bits", 0},
      {"-9223372036854775809", "does not fit 64 bits", 0},
      {"", "the text is empty", 0},
  };
  for (const Refused& row : rows) {
    try {
      ADD_FAILURE() << row.text << " became " << canonical_json(row.text, "arguments");
    } catch (const InvalidJson& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(row.reason)) << row.text;
      EXPECT_EQ(error.field(), "arguments");
      EXPECT_EQ(error.byte_offset(), row.offset) << row.text;
    }
  }
}

TEST(CanonicalJson, RefusesWhatIsDeeperThanJsonMayBe) {
  EXPECT_THROW((void)canonical_json(std::string(65, '[') + std::string(65, ']')), InvalidJson);
  std::string objects = "0";
  for (int level = 0; level < 64; ++level) { objects = "{\"k\":" + objects + "}"; }
  EXPECT_EQ(canonical_json(objects), objects);
  EXPECT_THROW((void)canonical_json("{\"k\":" + objects + "}"), InvalidJson);
}

}  // namespace
}  // namespace hapax::base
