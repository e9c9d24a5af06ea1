#include <hapax/uuid.hpp>

#include <gtest/gtest.h>

#include <unordered_set>

namespace hapax {
namespace {

constexpr std::string_view sample = "01934f2c-0a1b-7c2d-8e3f-405162738495";

TEST(Uuid, IsWrittenInLowerCaseWithHyphensAndReadBack) {
  const auto id = Uuid::parse(sample);
  ASSERT_TRUE(id);
  EXPECT_EQ(id->bytes[0], 0x01);
  EXPECT_EQ(id->bytes[6], 0x7c);
  EXPECT_EQ(id->bytes[15], 0x95);
  EXPECT_EQ(id->to_string(), sample);
}

TEST(Uuid, IsReadInEitherCase) { EXPECT_EQ(Uuid::parse("01934F2C-0A1B-7C2D-8E3F-405162738495"), Uuid::parse(sample)); }

TEST(Uuid, OtherFormsAreRefused) {
  for (const std::string_view text : {"", "01934f2c", "01934f2c0a1b7c2d8e3f405162738495",
                                      "{01934f2c-0a1b-7c2d-8e3f-40516273849}", "01934f2c-0a1b-7c2d-8e3f-40516273849g",
                                      "01934f2c-0a1b-7c2d-8e3f-4051627384955", "01934f2c-0a1b-7c2d-8e3f_405162738495",
                                      "01934f2-c0a1b-7c2d-8e3f-405162738495", " 1934f2c-0a1b-7c2d-8e3f-405162738495"}) {
    EXPECT_FALSE(Uuid::parse(text)) << text;
  }
}

TEST(Uuid, IsOrderedAsBytes) {
  EXPECT_LT(*Uuid::parse("01934f2c-0a1b-7c2d-8e3f-405162738495"), *Uuid::parse("01934f2c-0a1b-7c2d-8e3f-405162738496"));
  EXPECT_LT(*Uuid::parse("7f000000-0000-0000-0000-000000000000"), *Uuid::parse("80000000-0000-0000-0000-000000000000"));
}

TEST(Uuid, TheOneOfZeroesIsNil) {
  EXPECT_TRUE(Uuid{}.is_nil());
  EXPECT_FALSE(Uuid::parse(sample)->is_nil());
  EXPECT_EQ(Uuid{}.to_string(), "00000000-0000-0000-0000-000000000000");
}

TEST(Uuid, HashesDifferWhenOneByteDoes) {
  std::unordered_set<std::size_t> hashes;
  for (std::size_t index = 0; index < 16; ++index) {
    Uuid id = *Uuid::parse(sample);
    id.bytes[index] ^= 1;
    hashes.insert(std::hash<Uuid>()(id));
  }
  EXPECT_EQ(hashes.size(), 16U);
}

}  // namespace
}  // namespace hapax
