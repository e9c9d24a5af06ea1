#include "base/json_number.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace hapax::base {
namespace {

std::string written(double number) {
  std::string out;
  append_ecmascript_number(out, number);
  return out;
}

struct Row {
  std::uint64_t bits;
  std::string_view text;
};

// RFC 8785, appendix B, without the two that are not finite.
constexpr Row appendix_b[] = {
    {0x0000000000000000, "0"},
    {0x8000000000000000, "0"},
    {0x0000000000000001, "5e-324"},
    {0x8000000000000001, "-5e-324"},
    {0x7fefffffffffffff, "1.7976931348623157e+308"},
    {0xffefffffffffffff, "-1.7976931348623157e+308"},
    {0x4340000000000000, "9007199254740992"},
    {0xc340000000000000, "-9007199254740992"},
    {0x4430000000000000, "295147905179352830000"},
    {0x44b52d02c7e14af5, "9.999999999999997e+22"},
    {0x44b52d02c7e14af6, "1e+23"},
    {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
    {0x444b1ae4d6e2ef4e, "999999999999999700000"},
    {0x444b1ae4d6e2ef4f, "999999999999999900000"},
    {0x444b1ae4d6e2ef50, "1e+21"},
    {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
    {0x3eb0c6f7a0b5ed8d, "0.000001"},
    {0x41b3de4355555553, "333333333.3333332"},
    {0x41b3de4355555554, "333333333.33333325"},
    {0x41b3de4355555555, "333333333.3333333"},
    {0x41b3de4355555556, "333333333.3333334"},
    {0x41b3de4355555557, "333333333.33333343"},
    {0xbecbf647612f3696, "-0.0000033333333333333333"},
    {0x43143ff3c1cb0959, "1424953923781206.2"},
};

// Written by JSON.stringify of a JavaScript engine for random doubles.
constexpr Row stringified[] = {
    {0x0e532cddc6058aa3, "1.15028299284056e-239"},
    {0x0bb00a52b7b36bd5, "2.1878462395436385e-252"},
    {0xa7bdefef61ca10a9, "-2.967929304957302e-117"},
    {0xedae3659d2caa879, "-2.1329994947247532e+220"},
    {0x1b9ed90c35d2684a, "1.2180001356079935e-175"},
    {0x993eb955cc596f12, "-4.413264669051278e-187"},
    {0x0a7b5e61d204564d, "3.560062173640819e-258"},
    {0x36c64f991a3f5524, "7.816067954852728e-45"},
    {0xf8d6195ccad999b7, "-1.1955014614731185e+274"},
    {0xbd5699957562e713, "-3.211644185276628e-13"},
    {0x46f8e82aa044311b, "8.082751300984317e+33"},
    {0xfca2fd7e1ba75417, "-2.3688386021648227e+292"},
    {0x43e23c84220239a8, "10512563783091438000"},
    {0xcc2170099e205134, "-5.472894135079842e+58"},
    {0x5fb10ec7cc35f150, "8.933861339823055e+152"},
    {0x12169c95af96cf8e, "1.5638519207027732e-221"},
    {0xced06498ae9efd1c, "-4.525600620745238e+71"},
    {0x6fb4b55ad39a0a78, "1.255866886471044e+230"},
    {0xbdc998ebf29cb344, "-4.656130891132915e-11"},
    {0x40e0287bf91057b5, "33091.874153300574"},
    {0xbf7230280cb8d978, "-0.004440456813929898"},
    {0xbd6547ec7db3f405, "-6.048410431474726e-13"},
    {0x3ef2f1a5f8ff6432, "0.00001806634787713066"},
    {0xc031e16c31e1672f, "-17.880557172327084"},
    {0x3b89e1447e2d5a90, "6.850366088242145e-22"},
    {0xc2bc4968f0b2fc63, "-31101618795260.387"},
    {0xbb10c57cfca0e8b6, "-3.468252171796827e-24"},
    {0xbb7753f2bd876d39, "-3.0874248586995994e-22"},
    {0x3e60d76c94c538ac, "3.1369739336195134e-8"},
    {0xbea9d7fab1790735, "-7.702013559778575e-7"},
    {0x3efca5599b3de7ba, "0.000027318857703552176"},
    {0x3f327110262b2cc1, "0.00028139728798910404"},
    {0x412b933400000000, "903578"},
    {0x3fa311e85fd04a30, "0.037246"},
    {0x3f93fa7b5bc0f0f6, "0.0195102"},
    {0x3fbcc3c18b502abb, "0.112362"},
    {0x3fc989df1172ef0b, "0.19952"},
    {0x4109159000000000, "205490"},
    {0x4079cf16872b020c, "412.943"},
    {0x4052f114e3bcd35b, "75.7669"},
    {0x3df0000000000000, "2.3283064365386963e-10"},
    {0x5060000000000000, "1.4821387422376473e+79"},
    {0x41b0000001000000, "268435457"},
    {0x7ac0000000000000, "1.858771135597229e+283"},
    {0x401c000000000000, "7"},
    {0x20f0000000000000, "4.887898181599368e-150"},
    {0x36b0000000000000, "2.802596928649634e-45"},
    {0x1137b08617a104ee, "1e-225"},
    {0x2680000000000000, "3.02546243347603e-123"},
    {0x6b60000000000000, "1.6437924692338667e+209"},
    {0x0990000000000000, "1.2702926122619002e-262"},
    {0x3da5fd7fe1796495, "1e-11"},
};

TEST(EcmascriptNumber, IsWrittenAsInRfc8785AppendixB) {
  for (const Row& row : appendix_b) { EXPECT_EQ(written(std::bit_cast<double>(row.bits)), row.text); }
}

TEST(EcmascriptNumber, IsWrittenAsAJavascriptEngineDoes) {
  for (const Row& row : stringified) { EXPECT_EQ(written(std::bit_cast<double>(row.bits)), row.text); }
}

TEST(EcmascriptNumber, ReadsBackAsTheSameDouble) {
  for (const Row& row : stringified) {
    EXPECT_EQ(read_json_number(written(std::bit_cast<double>(row.bits))), std::bit_cast<double>(row.bits)) << row.text;
  }
}

TEST(ReadJsonNumber, RoundsToTheNearestDouble) {
  EXPECT_EQ(read_json_number("0.1"), 0.1);
  EXPECT_EQ(read_json_number("9007199254740993.0"), 9007199254740992.0);
  EXPECT_EQ(read_json_number("-2.5E-3"), -0.0025);
  EXPECT_EQ(read_json_number("4.9e-324"), 5e-324);
}

TEST(ReadJsonNumber, WhatIsTooSmallIsZeroAndWhatIsTooLargeIsNothing) {
  for (const std::string_view text : {"1e-400", "-1e-400", "0.0001e-330", "2e-324", "123456789.0e-999",
                                      "1e-99999999999999999999", "0e99999999999999999999", "0.000e400"}) {
    EXPECT_EQ(read_json_number(text), 0.0) << text;
  }
  for (const std::string_view text : {"1e309", "-1e309", "1.7976931348623159e308", "0.0000001e400",
                                      "1e99999999999999999999", "1e+400", "12345678901234567890e300"}) {
    EXPECT_EQ(read_json_number(text), std::nullopt) << text;
  }
}

TEST(Fits64Bits, KnowsTheBorders) {
  for (const std::string_view text :
       {"0", "-0", "999999999999999999", "9223372036854775808", "18446744073709551615", "-9223372036854775808"}) {
    EXPECT_TRUE(fits_64_bits(text)) << text;
  }
  for (const std::string_view text : {"18446744073709551616", "-9223372036854775809", "99999999999999999999"}) {
    EXPECT_FALSE(fits_64_bits(text)) << text;
  }
}

}  // namespace
}  // namespace hapax::base
