#include "store/encrypted/envelope.hpp"

#include "base/base64.hpp"
#include "base/json.hpp"
#include "base/random.hpp"

#include <gmock/gmock.h>

#include <set>

namespace hapax::store::encrypted {

namespace {

using ::testing::HasSubstr;

Key key(const std::string& name, char filling) {
  Key made{.name = name};
  made.bytes.fill(static_cast<std::uint8_t>(filling));
  return made;
}

const Place here = Place("result").add("one");

TEST(Envelope, WhatIsSealedOpensAndIsValidJson) {
  const KeyRing keys({key("k1", 'a')});
  for (const std::string& plain : {std::string(), std::string("null"), std::string(R"({"card":"4111"})"),
                                   std::string("\0\xff", 2), std::string(1 << 20, 'x')}) {
    const std::string sealed = seal(keys.writing(), here, plain);
    EXPECT_NO_THROW(base::check_json(sealed, "sealed"));
    EXPECT_TRUE(is_envelope(sealed));
    EXPECT_THAT(sealed.substr(0, 60), HasSubstr(R"("key":"k1")"));
    EXPECT_EQ(open(keys, here, sealed), plain);
  }
}

TEST(Envelope, NothingOfThePlainTextIsInIt) {
  const std::string plain = R"({"card":"4111111111111111"})";
  EXPECT_EQ(seal(key("k1", 'a'), here, plain).find("4111"), std::string::npos);
}

TEST(Envelope, TheSameTextIsNeverSealedTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) { EXPECT_TRUE(seen.insert(seal(key("k1", 'a'), here, "null")).second); }
}

TEST(Envelope, PlainTextComesBackAsItIs) {
  const KeyRing keys({key("k1", 'a')});
  for (const std::string plain : {"", "null", R"({"$hapax":"other"})", "not json"}) {
    EXPECT_FALSE(is_envelope(plain));
    EXPECT_EQ(open(keys, here, plain), plain);
  }
}

TEST(Envelope, AnotherPlaceDoesNotOpenIt) {
  const KeyRing keys({key("k1", 'a')});
  const std::string sealed = seal(keys.writing(), here, "null");
  EXPECT_THROW((void)open(keys, Place("result").add("two"), sealed), DecryptionFailed);
  EXPECT_THROW((void)open(keys, Place("input").add("one"), sealed), DecryptionFailed);
  EXPECT_THROW((void)open(keys, Place("result"), sealed), DecryptionFailed);
  EXPECT_THROW((void)open(keys, Place("resulto").add("ne"), sealed), DecryptionFailed);
}

TEST(Envelope, AnyChangeIsSeen) {
  const KeyRing keys({key("k1", 'a')});
  const std::string sealed = seal(keys.writing(), here, R"({"amount":7})");
  base::SeededRandom random(9);
  for (std::size_t at = sealed.find("\"data\""); at < sealed.size(); ++at) {
    std::string bad = sealed;
    do { bad[at] = static_cast<char>(32 + random.next() % 95); } while (bad[at] == sealed[at]);
    EXPECT_THROW((void)open(keys, here, bad), DecryptionFailed) << bad;
    EXPECT_THROW((void)open(keys, here, sealed.substr(0, at)), DecryptionFailed);
  }
}

TEST(Envelope, SeveralKeysReadAndTheLastWrites) {
  const std::string old = seal(key("k1", 'a'), here, "1");
  const KeyRing both({key("k1", 'a'), key("k2", 'b')});
  EXPECT_EQ(both.writing().name, "k2");
  EXPECT_EQ(open(both, here, old), "1");
  EXPECT_EQ(open(both, here, seal(both.writing(), here, "2")), "2");
}

TEST(Envelope, AMissingKeyIsNamedAndAWrongOneDoesNotOpen) {
  const std::string sealed = seal(key("k1", 'a'), here, "1");
  try {
    (void)open(KeyRing({key("k2", 'b')}), here, sealed);
    ADD_FAILURE();
  } catch (const DecryptionFailed& error) { EXPECT_THAT(error.what(), HasSubstr("'k1'")); }
  EXPECT_THROW((void)open(KeyRing({key("k1", 'z')}), here, sealed), DecryptionFailed);
}

// Every later release opens the envelopes of every earlier one.
TEST(Envelope, IsSpelledAsEver) {
  const KeyRing keys({key("k1", 'a')});
  const std::string kept =
      R"({"$hapax":"aes-256-gcm","key":"k1","data":"AAECAwQFBgcICQoLzDiFjT/6LOH98xhKyAIT5F5m85XJz/7E8XjBog=="})";
  EXPECT_EQ(open(keys, Place("result").add("one"), kept), R"({"amount":7})");
}

TEST(KeyRing, IsReadFromLines) {
  const std::string one = base::to_base64(std::string(32, 'a'));
  const std::string two = base::to_base64(std::string(32, 'b'));
  const KeyRing keys = parse_key_ring("# ours\n\nk1 " + one + "\r\nk.2_x-Y " + two + "\n", "f");
  EXPECT_EQ(keys.writing().name, "k.2_x-Y");
  ASSERT_NE(keys.find("k1"), nullptr);
  EXPECT_EQ(keys.find("k1")->bytes, key("k1", 'a').bytes);
  EXPECT_EQ(keys.find("k3"), nullptr);
  EXPECT_NE(keys.find("k1")->check(), key("k1", 'b').check());
}

TEST(KeyRing, WhatIsNoneIsToldWithItsPlaceAndWithoutAnyKey) {
  const std::string good = base::to_base64(std::string(32, 'a'));
  for (const std::string& bad : {std::string("k1"), "k1 " + base::to_base64(std::string(31, 'a')), "k1 " + good + "x",
                                 "k\"1 " + good, std::string(33, 'k') + " " + good, " " + good, good, "k0 " + good}) {
    try {
      (void)parse_key_ring("k0 " + good + "\n" + bad + "\n", "keys");
      ADD_FAILURE() << bad;
    } catch (const ConfigurationError& error) {
      EXPECT_THAT(error.what(), ::testing::StartsWith("keys:2: "));
      EXPECT_THAT(error.what(), ::testing::Not(HasSubstr(good.substr(0, 10))));
    }
  }
  EXPECT_THROW((void)parse_key_ring("# nothing\n", "keys"), ConfigurationError);
}

}  // namespace

}  // namespace hapax::store::encrypted
