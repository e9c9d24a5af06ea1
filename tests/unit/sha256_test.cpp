#include "base/sha256.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace hapax::base {
namespace {

std::string hex_of_parts(std::vector<std::string_view> parts) { return to_hex(sha256_parts(parts)); }

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PartsAreToldApartByTheirLengths) {
  EXPECT_EQ(hex_of_parts({"a", "bc"}), "3fafa1cf2f19a7c1129beb20cf0983f73a489a221fc0dd2f16d1be292d089205");
  EXPECT_EQ(hex_of_parts({"ab", "c"}), "601d5476e2ccfe2c87a2bba7a322659734a05749d5b5aa781f513e4912db0d5f");
  EXPECT_NE(hex_of_parts({"a", ""}), hex_of_parts({"a"}));
  EXPECT_EQ(hex_of_parts({}), to_hex(sha256("")));
}

TEST(Sha256, ThreadsDoNotDisturbEachOther) {
  const std::string expected = to_hex(sha256("abc"));
  std::vector<std::string> wrong(4);
  {
    std::vector<std::jthread> threads;
    for (auto& first_wrong : wrong) {
      threads.emplace_back([&first_wrong, &expected] {
        for (int count = 0; count < 1000; ++count) {
          if (const std::string got = to_hex(sha256("abc")); got != expected) { first_wrong = got; }
        }
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<std::string>(4));
}

TEST(Hex, IsLowerCaseTwoDigitsAByte) {
  const std::array<std::uint8_t, 4> bytes = {0x00, 0x0f, 0xa0, 0xff};
  EXPECT_EQ(to_hex(bytes), "000fa0ff");
  EXPECT_EQ(to_hex({}), "");
}

}  // namespace
}  // namespace hapax::base
