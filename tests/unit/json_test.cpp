#include "base/json.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hapax::base {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;
using testing::HasSubstr;

struct Refusal {
  std::string message;
  std::size_t offset = 0;
};

Refusal refusal(std::string_view text) {
  try {
    check_json(text, "input");
  } catch (const InvalidJson& error) {
    EXPECT_EQ(error.field(), "input");
    EXPECT_EQ(error.name(), "InvalidJson");
    return {error.what(), error.byte_offset()};
  }
  ADD_FAILURE() << "was taken: " << text.substr(0, 100);
  return {};
}

void expect_refused(std::string_view text, std::string_view reason, std::size_t offset) {
  const Refusal got = refusal(text);
  EXPECT_THAT(got.message, HasSubstr(reason)) << text.substr(0, 100);
  EXPECT_EQ(got.offset, offset) << text.substr(0, 100);
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(CheckJson, TakesEveryKindOfValue) {
  for (const std::string_view text :
       {"null"sv, "true"sv, "false"sv, "0"sv, "-0"sv, "-1.5e+3"sv, "1E40"sv, "\"\""sv, "[]"sv, "{}"sv,
        " \t\r\n[ 1 , [ ] , { } ] \n"sv, R"({"a":{"b":[1,2,{"c":null}]},"d":"e"})"sv,
        R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\ud83d\ude00")"sv, "\"Zürich 😀 \x7f\""sv, R"("\u0000")"sv}) {
    EXPECT_NO_THROW(check_json(text, "input")) << text;
  }
}

TEST(CheckJson, NamesTheFieldAndTheByte) {
  EXPECT_EQ(refusal(R"({"a": 1,})").message, "input: expected a key in double quotes (at byte 8)");
}

TEST(CheckJson, RefusesWhatIsNoJson) {
  expect_refused("", "the text is empty", 0);
  expect_refused("  ", "ends where a value was expected", 2);
  expect_refused("nul", "expected a JSON value", 0);
  expect_refused("True", "expected a JSON value", 0);
  expect_refused("NaN", "expected a JSON value", 0);
  expect_refused("Infinity", "expected a JSON value", 0);
  expect_refused("-Infinity", "expected a JSON value", 0);
  expect_refused("'a'", "expected a JSON value", 0);
  expect_refused("1 2", "after the value", 2);
  expect_refused("nullnull", "after the value", 4);
  expect_refused("\xef\xbb\xbfnull", "expected a JSON value", 0);
  expect_refused("1\0"sv, "after the value", 1);
  expect_refused("// note\n1", "expected a JSON value", 0);
}

TEST(CheckJson, RefusesBrokenArraysAndObjects) {
  expect_refused("[", "ends where a value was expected", 1);
  expect_refused("[1", "ends inside", 2);
  expect_refused("[1,]", "expected a JSON value", 3);
  expect_refused("[,1]", "expected a JSON value", 1);
  expect_refused("[1 2]", "expected ',' or ']'", 3);
  expect_refused("[1}", "expected ',' or ']'", 2);
  expect_refused("]", "expected a JSON value", 0);
  expect_refused("{", "ends inside", 1);
  expect_refused("{a:1}", "expected a key in double quotes", 1);
  expect_refused("{1:1}", "expected a key in double quotes", 1);
  expect_refused(R"({"a")", "ends inside", 4);
  expect_refused(R"({"a" 1})", "expected ':'", 5);
  expect_refused(R"({"a":})", "expected a JSON value", 5);
  expect_refused(R"({"a":1 "b":2})", "expected ',' or '}'", 7);
  expect_refused(R"({"a":1,})", "expected a key in double quotes", 7);
}

TEST(CheckJson, RefusesBrokenNumbers) {
  expect_refused("01", "leading zero", 0);
  expect_refused("-01", "leading zero", 0);
  expect_refused("-", "expected a JSON value", 0);
  expect_refused("+1", "expected a JSON value", 0);
  expect_refused(".5", "expected a JSON value", 0);
  expect_refused("[1.]", "after the decimal point", 3);
  expect_refused("[1.e5]", "after the decimal point", 3);
  expect_refused("[1e]", "in the exponent", 3);
  expect_refused("[1e+]", "in the exponent", 4);
  expect_refused("0x10", "after the value", 1);
  expect_refused("1_000", "after the value", 1);
}

TEST(CheckJson, IntegersMustFit64Bits) {
  for (const std::string_view text : {"9007199254740993", "9223372036854775807", "-9223372036854775808",
                                      "18446744073709551615", "999999999999999999"}) {
    EXPECT_NO_THROW(check_json(text, "input")) << text;
  }
  expect_refused("18446744073709551616", "does not fit 64 bits", 0);
  expect_refused("[-9223372036854775809]", "does not fit 64 bits", 1);
  expect_refused(R"({"n": 100000000000000000000})", "does not fit 64 bits", 6);
}

TEST(CheckJson, OtherNumbersMustBeFiniteInADouble) {
  const std::string long_one = std::string(308, '9') + ".5";
  for (const std::string_view text : {std::string_view(long_one), "1e308"sv, "-1.7976931348623157e308"sv, "1e-400"sv,
                                      "0e99999999999999999999"sv, "1e-99999999999999999999"sv, "1e22"sv}) {
    EXPECT_NO_THROW(check_json(text, "input")) << text;
  }
  expect_refused("1e400", "too large for a double", 0);
  expect_refused("[-1e309]", "too large for a double", 1);
  expect_refused("1.7976931348623159e308", "too large for a double", 0);
  expect_refused("1e99999999999999999999", "too large for a double", 0);
  expect_refused(std::string(310, '9') + ".0", "too large for a double", 0);
}

TEST(CheckJson, RefusesBrokenStrings) {
  expect_refused("\"", "ends inside a string", 1);
  expect_refused("\"abcdefghijkl", "ends inside a string", 13);
  expect_refused("\"a\\", "ends inside a string", 3);
  expect_refused("\"a\nb\"", "control character", 2);
  expect_refused("\"0123456789\x01\"", "control character", 11);
  expect_refused("\"a\0b\""sv, "control character", 2);
  expect_refused(R"("\x41")", "unknown escape", 1);
  expect_refused("\"\\\0\""sv, "unknown escape", 1);
  expect_refused(R"("ab\u12")", "four hex digits", 3);
  expect_refused(R"("\u12g4")", "four hex digits", 1);
  expect_refused(R"("\u)", "four hex digits", 1);
}

TEST(CheckJson, RefusesBytesThatAreNoUtf8) {
  expect_refused("\"caf\xe9\"", "invalid UTF-8", 4);
  expect_refused("\"\xc0\xaf\"", "invalid UTF-8", 1);
  expect_refused("\"0123456789\xed\xa0\x80\"", "invalid UTF-8", 11);
  expect_refused("\"\xe2\x82", "invalid UTF-8", 1);
  expect_refused("{\"\xff\":1}", "invalid UTF-8", 2);
  expect_refused("\xff", "expected a JSON value", 0);
}

TEST(CheckJson, RefusesLoneSurrogates) {
  expect_refused(R"("a\ud800")", "lone surrogate", 2);
  expect_refused(R"("\ude00")", "lone surrogate", 1);
  expect_refused(R"("\ud83d\ud83d")", "lone surrogate", 1);
  expect_refused(R"("\ud83d\n")", "lone surrogate", 1);
  expect_refused(R"("\ud83d)", "lone surrogate", 1);
  expect_refused(R"("\ude00\ud83d")", "lone surrogate", 1);
}

TEST(CheckJson, RefusesDuplicateKeys) {
  expect_refused(R"({"a":1,"a":2})", "duplicate key", 7);
  expect_refused(R"({"b":{"a":1,"c":2,"a":3}})", "duplicate key", 18);
  expect_refused(R"({"":1,"":2})", "duplicate key", 6);
}

TEST(CheckJson, ComparesKeysAfterUnescaping) {
  expect_refused(R"({"a":1,"\u0061":2})", "duplicate key", 7);
  expect_refused(R"({"\ud83d\ude00":1,"😀":2})", "duplicate key", 18);
  expect_refused(R"({"a\/b":1,"a/b":2})", "duplicate key", 10);
  EXPECT_NO_THROW(check_json(R"({"\\u0061":1,"a":2})", "input"));
}

TEST(CheckJson, TheSameKeyInDifferentObjectsIsFine) {
  EXPECT_NO_THROW(check_json(R"({"a":{"a":1},"b":[{"a":1},{"a":2}]})", "input"));
}

TEST(CheckJson, FindsDuplicatesAmongManyKeys) {
  std::string object = "{";
  for (int index = 0; index < 1000; ++index) {
    object += "\"key" + std::to_string(index) + "\":" + std::to_string(index) + ",";
  }
  EXPECT_NO_THROW(check_json(object + "\"last\":0}", "input"));
  expect_refused(object + R"("key3":0})", "duplicate key", object.size());
  expect_refused(object + R"("key900":0})", "duplicate key", object.size());
  // The error names the first of several repetitions.
  expect_refused(object + R"("key900":0,"\u006bey3":0})", "duplicate key", object.size());
}

TEST(CheckJson, DepthIsBounded) {
  EXPECT_NO_THROW(check_json(nested(64), "input"));
  expect_refused(nested(65), "deeper than 64", 64);
  expect_refused(std::string(1'000'000, '['), "deeper than 64", 64);
  std::string objects;
  for (int level = 0; level < 65; ++level) { objects += "{\"a\":"; }
  expect_refused(objects, "deeper than 64", 64 * 5);
}

// The error says what was found, what was expected, and an example or a remedy.
TEST(CheckJson, RefusalsSayWhatWasExpected) {
  expect_refused(R"({"a":1,"a":2})", R"(duplicate key "a" in an object; expected each key once, such as {"a": 1)", 7);
  std::string many = "{";
  for (int key = 0; key < 40; ++key) { many += "\"key" + std::to_string(key) + "\":0,"; }
  expect_refused(many + R"("key\u0033":0})", R"(duplicate key "key3" in an object)", many.size());
  expect_refused("{\"" + std::string(500, 'k') + "\":1,\"" + std::string(500, 'k') + "\":1}",
                 "k…\" (500 bytes) in an object", 506);
  EXPECT_LT(refusal("{\"" + std::string(500, 'k') + "\":1,\"" + std::string(500, 'k') + "\":1}").message.size(), 400U);
  expect_refused(R"("\ud800")", R"(expected both halves, such as \ud83d\ude00)", 1);
  expect_refused("18446744073709551616", R"(or a string such as "18446744073709551616")", 0);
  expect_refused("[99999999999999999999]", "the integer 99999999999999999999 does not fit 64 bits", 1);
  EXPECT_LT(refusal(std::string(100'000, '9')).message.size(), 400U);
  expect_refused(nested(65), "expected at most 64", 64);
  for (const std::string_view word : {"NaN"sv, "Infinity"sv, "-Infinity"sv}) { expect_refused(word, "send null", 0); }
  expect_refused("'a'", R"(such as {"id": 7})", 0);
}

TEST(CheckJson, EveryShorterPartOfAValueIsRefused) {
  const std::string whole = R"({"k\u00e9y": [1.5e3, true, null, "Zürich \ud83d\ude00"], "b": {}})";
  EXPECT_NO_THROW(check_json(whole, "input"));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(check_json(std::string_view(whole).substr(0, length), "input"), InvalidJson) << length;
  }
}

}  // namespace
}  // namespace hapax::base
