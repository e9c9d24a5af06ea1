#include "model/effect_key.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace hapax::model {
namespace {

base::Digest counting_digest() {
  base::Digest digest;
  std::iota(digest.begin(), digest.end(), std::uint8_t{0});
  return digest;
}

Uuid counting_id() {
  Uuid id;
  std::iota(id.bytes.begin(), id.bytes.end(), std::uint8_t{0});
  return id;
}

// Computed with another program. Handlers have sent these keys to other systems, so they never change.
TEST(EffectKey, GoldenVectors) {
  EXPECT_EQ(effect_key({}, counting_digest(), counting_id()), "hx_e9fa5bfa2e4597f608df61e14774e702");
  EXPECT_EQ(effect_key({}, {}, counting_id()), "hx_46bd2f7f1d548cc85428ce5a98beec66");
}

TEST(EffectKey, IsTheSameForEveryRunUnderAnIdentity) {
  EXPECT_EQ(effect_key({}, counting_digest(), counting_id()), effect_key({}, counting_digest(), Uuid{}));
}

TEST(EffectKey, DiffersBetweenExecutionsWithoutIdentity) {
  EXPECT_NE(effect_key({}, {}, counting_id()), effect_key({}, {}, Uuid{}));
}

TEST(EffectKey, AStoredOneIsGivenAsItIs) {
  EXPECT_EQ(effect_key("order-7", counting_digest(), counting_id()), "order-7");
}

}  // namespace
}  // namespace hapax::model
