#include "base/text.hpp"

#include <gtest/gtest.h>

#include <array>

namespace hapax::base {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

TEST(Utf8, WellFormedTextIsValid) {
  for (const std::string_view text : {""sv, "abc"sv, "Zürich €5 😀"sv, "\x7f\0x"sv, "\xed\x9f\xbf"sv, "\xee\x80\x80"sv,
                                      "\xf4\x8f\xbf\xbf"sv, "\xe0\xa0\x80"sv, "\xf0\x90\x80\x80"sv}) {
    EXPECT_TRUE(is_valid_utf8(text)) << printable(text);
  }
}

TEST(Utf8, BrokenOverlongSurrogateAndTooHighSequencesAreNot) {
  for (const std::string_view text :
       {"\x80"sv, "a\xff"sv, "\xc3"sv, "\xc3("sv, "\xc0\xaf"sv, "\xc1\xbf"sv, "\xe0\x9f\xbf"sv, "\xe2\x82"sv,
        "\xe2(\xa1"sv, "\xed\xa0\x80"sv, "\xed\xbf\xbf"sv, "\xf0\x8f\xbf\xbf"sv, "\xf0\x9f\x98"sv, "\xf4\x90\x80\x80"sv,
        "\xf5\x80\x80\x80"sv}) {
    EXPECT_FALSE(is_valid_utf8(text)) << printable(text);
  }
}

TEST(ControlCharacters, AreC0DeleteAndC1) {
  for (const std::string_view text : {"\0"sv, "a\n"sv, "\t"sv, "\x1b[31m"sv, "\x7f"sv, "\xc2\x80"sv, "x\xc2\x9f"sv}) {
    EXPECT_TRUE(has_control_characters(text)) << printable(text);
  }
  for (const std::string_view text : {""sv, "abc def"sv, "\xc2\xa0"sv, "é"sv, "€😀"sv}) {
    EXPECT_FALSE(has_control_characters(text)) << printable(text);
  }
}

TEST(EscapeInvalid, GoodTextComesBackAsItWas) {
  EXPECT_EQ(escape_invalid("line one\nline two\tZürich 😀"), "line one\nline two\tZürich 😀");
}

TEST(EscapeInvalid, NulAndBrokenBytesBecomeVisible) {
  EXPECT_EQ(escape_invalid("a\0b"sv), "a\\x00b");
  EXPECT_EQ(escape_invalid("caf\xe9!"), "caf\\xe9!");
  EXPECT_EQ(escape_invalid("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(escape_invalid("\xe2\x82"), "\\xe2\\x82");
}

TEST(EscapeInvalid, WhateverTheBytesTheResultIsValid) {
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) { every_byte.push_back(static_cast<char>(static_cast<std::uint8_t>(byte))); }
  const std::string safe = escape_invalid(every_byte + every_byte);
  EXPECT_TRUE(is_valid_utf8(safe));
  EXPECT_EQ(safe.find('\0'), std::string::npos);
}

TEST(Keep, ShortTextIsKeptWhole) {
  EXPECT_EQ(keep_head("abc", 3), "abc");
  EXPECT_EQ(keep_tail("abc", 3), "abc");
  EXPECT_EQ(keep_head("", 0), "");
}

TEST(Keep, LongTextIsCutAtTheAskedEnd) {
  EXPECT_EQ(keep_head("abcdef", 4), "abcd");
  EXPECT_EQ(keep_tail("abcdef", 4), "cdef");
  EXPECT_EQ(keep_head("abcdef", 0), "");
  EXPECT_EQ(keep_tail("abcdef", 0), "");
}

TEST(Keep, NoCharacterIsCutInTwo) {
  const std::string text = "a€😀b";  // 1 + 3 + 4 + 1 bytes
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes) {
    const std::string head = keep_head(text, bytes);
    const std::string tail = keep_tail(text, bytes);
    EXPECT_TRUE(is_valid_utf8(head)) << bytes;
    EXPECT_TRUE(is_valid_utf8(tail)) << bytes;
    EXPECT_LE(head.size(), bytes);
    EXPECT_LE(tail.size(), bytes);
  }
  EXPECT_EQ(keep_head(text, 7), "a€");
  EXPECT_EQ(keep_head(text, 8), "a€😀");
  EXPECT_EQ(keep_tail(text, 4), "b");
  EXPECT_EQ(keep_tail(text, 5), "😀b");
}

TEST(Keep, BytesThatAreNoTextAreCutWhereAsked) {
  const std::string junk(10, '\x80');
  EXPECT_EQ(keep_head(junk, 6).size(), 6U);
  EXPECT_EQ(keep_tail(junk, 6).size(), 6U);
}

TEST(Printable, ControlCharactersAndBrokenBytesAreShown) {
  EXPECT_EQ(printable("a\x1b[31mb\r\n\tc\x7f"), "a\\x1b[31mb\\x0d\\x0a\\x09c\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m");
  EXPECT_EQ(printable("\xff Zürich"), "\\xff Zürich");
}

TEST(Printable, NewlineAndTabPassWhenAllowed) { EXPECT_EQ(printable("a\n\tb\r\x1b", true), "a\n\tb\\x0d\\x1b"); }

TEST(EditDistance, CountsInsertedRemovedAndReplacedBytes) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("retention", "retenton"), 1U);
  EXPECT_EQ(edit_distance("dialy", "daily"), 1U);
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);
}

TEST(Closest, FindsTheNearWordAndNothingWhenNoneIsNear) {
  const std::array words = {"retention"s, "rate_limit"s, "concurrency"s};
  EXPECT_EQ(closest("retenton", words), "retention");
  EXPECT_EQ(closest("ratelimit", words), "rate_limit");
  EXPECT_EQ(closest("colour", words), "");
  EXPECT_EQ(closest("", words), "");
}

TEST(Closest, NoNameOver64BytesIsCompared) {
  const std::string longest(limits::suggestion_bytes, 'x');
  EXPECT_EQ(closest(longest, std::array{longest.substr(1)}), longest.substr(1));
  EXPECT_EQ(closest(longest + "x", std::array{longest}), "");
  EXPECT_EQ(closest(longest, std::array{longest + "x"}), "");
  EXPECT_EQ(closest(std::string(4 << 20, 'x'), std::array{std::string(4 << 20, 'y')}), "") << "hours, if compared";
}

TEST(Echo, ShowsAtMost200BytesAndHowManyCame) {
  EXPECT_EQ(echo("retenton"), "retenton");
  EXPECT_EQ(base::quoted("retenton"), "'retenton'");
  EXPECT_EQ(base::quoted("", '"'), "\"\"");
  const std::string most(limits::echo_bytes, 'x');
  EXPECT_EQ(echo(most), most);
  EXPECT_EQ(echo(most + "x"), most + "… (201 bytes)");
  EXPECT_EQ(base::quoted(std::string(1 << 20, 'x'), '"'), "\"" + most + "…\" (1048576 bytes)");
}

TEST(Echo, CountsWhatIsShownAndCutsNoCharacter) {
  EXPECT_EQ(echo("a\x1b\nb"), "a\\x1b\\x0ab");
  EXPECT_EQ(echo(std::string(100, '\0')), [] {
    std::string shown;
    for (int i = 0; i < 50; ++i) { shown += "\\x00"; }
    return shown + "… (100 bytes)";
  }());
  EXPECT_EQ(echo(std::string(199, 'x') + "ü"), std::string(199, 'x') + "… (201 bytes)");
  EXPECT_EQ(echo(std::string(198, 'x') + "ü"), std::string(198, 'x') + "ü");
}

TEST(Text, AnUnknownKeyIsToldTheNearOneOrAllThereAre) {
  const std::vector<std::string> words = {"retention", "rate_limit", "concurrency"};
  EXPECT_EQ(suggestion("retenton", words), "; did you mean \"retention\"?");
  EXPECT_EQ(suggestion("colour", words), "; expected retention, rate_limit or concurrency");
  EXPECT_EQ(listed(std::vector<std::string>{"one"}), "one");
}

}  // namespace
}  // namespace hapax::base
