#include "base/ascii.hpp"

#include "base/text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hapax::base {
namespace {

constexpr std::size_t longest = 20;

// For texts of every length, with each byte at each place of the 8-byte steps.
template <class Check>
void at_each_place(Check check) {
  for (std::size_t length = 1; length <= longest; ++length) {
    for (std::size_t place = 0; place < length; ++place) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(length, 'a');
        text[place] = static_cast<char>(byte);
        ASSERT_NO_FATAL_FAILURE(check(text, byte)) << "byte " << byte << " at " << place << " of " << length;
      }
    }
  }
}

TEST(Ascii, PrintableIsFromBlankToTilde) {
  at_each_place([](const std::string& text, int byte) {
    EXPECT_EQ(is_printable_ascii(text), byte >= 0x20 && byte < 0x7F);
    // A single byte beyond ASCII does not form a two-byte character.
    EXPECT_EQ(has_control_characters(text), byte < 0x20 || byte == 0x7F);
  });
}

TEST(Ascii, PlainHasNeitherQuotesNorBackslashes) {
  at_each_place([](const std::string& text, int byte) {
    EXPECT_EQ(is_plain_ascii(text), byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\');
  });
}

TEST(Ascii, NothingIsPrintableAndPlain) {
  EXPECT_TRUE(is_printable_ascii(""));
  EXPECT_TRUE(is_plain_ascii({}));
}

}  // namespace
}  // namespace hapax::base
