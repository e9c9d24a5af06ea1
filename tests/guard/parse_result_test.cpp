// The fast reader and writer of results agree with nlohmann's on every input.
#include <hapax/detail/guard_call.hpp>

#include <gtest/gtest.h>

#include <iostream>
#include <limits>
#include <random>
#include <vector>

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
  EXPECT_EQ(detail::write_result(expected), expected.dump()) << text;
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

TEST(ParseResultTest, ItWritesWhatNlohmannWritesAndRefusesWhatIsNoJson) {
  const std::vector<nlohmann::json> values{{{"text", "quote \" slash \\ line \n Z\xc3\xbcrich \x7f"}},
                                           {{"\xc3\xbc", 1}, {"a\"b", 2}},
                                           {{"large", UINT64_MAX}, {"small", INT64_MIN}, {"half", 0.5}, {"big", 1e300}},
                                           nlohmann::json::array({nlohmann::json::array(), nlohmann::json::object()})};
  for (const nlohmann::json& value : values) { EXPECT_EQ(detail::write_result(value), value.dump()); }
  EXPECT_THROW((void)detail::write_result("\xff"), InvalidArgument);
  EXPECT_THROW((void)detail::write_result({{"\xff", 1}}), InvalidArgument);
  EXPECT_THROW((void)detail::write_result(std::numeric_limits<double>::infinity()), InvalidArgument);
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
