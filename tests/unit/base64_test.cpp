#include "base/base64.hpp"

#include "base/random.hpp"

#include <gtest/gtest.h>

namespace hapax::base {

namespace {

TEST(Base64, TheVectorsOfRfc4648) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : vectors) {
    EXPECT_EQ(to_base64(plain), coded);
    EXPECT_EQ(from_base64(coded), plain);
  }
}

TEST(Base64, AnyBytesComeBack) {
  SeededRandom random(5);
  for (int size = 0; size < 200; ++size) {
    std::string bytes;
    for (int i = 0; i < size; ++i) { bytes.push_back(static_cast<char>(random.next() & 255U)); }
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  }
}

TEST(Base64, EveryTextHasOneSpelling) {
  for (const char* const bad :
       {"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm=v", "=", "====", "Zm9v\n", "Zm9 ", "Zm-_", "Z===", "Zg==Zg=="}) {
    EXPECT_FALSE(from_base64(bad).has_value()) << bad;
  }
}

}  // namespace

}  // namespace hapax::base
