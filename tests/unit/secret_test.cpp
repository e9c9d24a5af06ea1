#include "app/tokens/secret.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <set>

namespace hapax::auth {

namespace {

TEST(Secret, HasItsPrefixItsLengthAndPlainLettersAndDigits) {
  base::SystemRandom random;
  const Secret secret = new_secret(random);
  EXPECT_TRUE(secret.text.starts_with("hapax_"));
  EXPECT_EQ(secret.text.size(), secret_bytes);
  for (const char c : secret.text.substr(secret_prefix.size())) { EXPECT_TRUE(std::isalnum(c)) << c; }
}

TEST(Secret, IsKnownByTheHashOfItsText) {
  base::SystemRandom random;
  const Secret secret = new_secret(random);
  EXPECT_EQ(secret.hash, base::sha256(secret.text));
  EXPECT_EQ(hash_of(secret.text), secret.hash);
}

// Tokens of this form are in use, so it must be accepted for ever.
TEST(Secret, IsSpelledAsEver) {
  base::SeededRandom random(7);
  const std::string text = new_secret(random).text;
  EXPECT_EQ(text, "hapax_NtWCPHUuBFSO6FqVDFCH2eIiw28GOQBdYFd1twwKQ7YA7olYy");
  EXPECT_TRUE(hash_of(text).has_value());
}

TEST(Secret, EveryOneIsAnother) {
  base::SystemRandom random;
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) { EXPECT_TRUE(seen.insert(new_secret(random).text).second); }
}

TEST(Secret, AllDigitsAreUsedAlike) {
  base::SeededRandom random(42);
  std::map<char, int> counts;
  constexpr int many = 4000;
  for (int i = 0; i < many; ++i) {
    for (const char c : new_secret(random).text.substr(secret_prefix.size(), secret_random_digits)) { counts[c] += 1; }
  }
  EXPECT_EQ(counts.size(), 62U);
  const double expected = double(many) * double(secret_random_digits) / 62;
  for (const auto& [digit, count] : counts) { EXPECT_NEAR(count, expected, expected * 0.1) << digit; }
}

TEST(Secret, AnyOneCharacterChangedIsNoSecret) {
  base::SeededRandom random(11);
  const std::string good = new_secret(random).text;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == 'x' ? 'y' : 'x';
    EXPECT_FALSE(hash_of(bad).has_value()) << bad;
  }
}

TEST(Secret, OtherTextIsNone) {
  base::SeededRandom random(11);
  const std::string good = new_secret(random).text;
  const std::string nul("\0", 1);
  for (const std::string& bad : {std::string(), std::string("hapax_"), good.substr(0, 54), good + "x", " " + good,
                                 good + nul, good.substr(6), "Hapax_" + good.substr(6), std::string(55, '\xff')}) {
    EXPECT_FALSE(hash_of(bad).has_value()) << bad;
  }
}

TEST(Secret, DigestsAreComparedWhole) {
  const base::Digest one = base::sha256("one");
  base::Digest other = one;
  EXPECT_TRUE(is_same(one, other));
  other.back() ^= 1U;
  EXPECT_FALSE(is_same(one, other));
  other = one;
  other.front() ^= 128U;
  EXPECT_FALSE(is_same(one, other));
}

}  // namespace

}  // namespace hapax::auth
