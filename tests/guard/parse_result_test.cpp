// The quick reader of results says what nlohmann's says, whatever it is given.
#include <hapax/guard_call.hpp>

#include <gtest/gtest.h>

#include <iostream>
#include <random>

namespace hapax::guard_tests {

namespace {

void expect_same(const std::string& text) {
  const nlohmann::json expected = nlohmann::json::parse(text, nullptr, false);
  if (expected.is_discarded()) {
    EXPECT_THROW((void)detail::parse_result(text), nlohmann::json::exception) << text;
    return;
  }
  const nlohmann::json found = detail::parse_result(text);
  EXPECT_EQ(found, expected) << text;
  EXPECT_EQ(found.dump(), expected.dump()) << text;
  EXPECT_EQ(found.type(), expected.type()) << text;
}

TEST(ParseResultTest, ItReadsWhatNlohmannReads) {
  for (const char* const text : {"0",
                                 "-0",
                                 "-1",
                                 "1",
                                 "01",
                                 "-01",
                                 "-",
                                 "--1",
                                 "1-1",
                                 "999999999999999999",
                                 "1000000000000000000",
                                 "18446744073709551615",
                                 "18446744073709551616",
                                 "-9223372036854775808",
                                 "1.5",
                                 "1e3",
                                 "-1.5e-3",
                                 "1.",
                                 ".5",
                                 "true",
                                 "false",
                                 "null",
                                 "tru",
                                 "nul",
                                 "truetrue",
                                 "\"\"",
                                 "\"a\"",
                                 "\"a",
                                 "\"\\n\"",
                                 "\"\\u00e9\"",
                                 "\"\xc3\xa9\"",
                                 "\"\xff\"",
                                 "\"\x01\"",
                                 "{}",
                                 "[]",
                                 "[1,2,[3,{}]]",
                                 "[1,]",
                                 "[,1]",
                                 "[1",
                                 "{\"a\":1}",
                                 "{\"b\":1,\"a\":[true,null,-5]}",
                                 "{\"a\":1,}",
                                 "{\"a\"}",
                                 "{a:1}",
                                 "",
                                 " ",
                                 " 1",
                                 "1 ",
                                 "[1, 2]",
                                 "{\"a\":1,\"a\":2}",
                                 "{\"a\":{\"b\":{\"c\":\"d\"}}}",
                                 "+1",
                                 "NaN",
                                 "Infinity"}) {
    expect_same(text);
  }
}

TEST(ParseResultTest, ItReadsWhatNlohmannReadsOfRandomTexts) {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << std::endl;
  std::mt19937_64 random(seed);
  const std::string alphabet = "{}[]:,\"0123456789-.eEtrufalsn \\x";
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::uint64_t length = random() % 12; length > 0; --length) { text += alphabet[random() % alphabet.size()]; }
    expect_same(text);
  }
}

}  // namespace

}  // namespace hapax::guard_tests
