#include "model/labels.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

#include <gtest/gtest.h>

namespace hapax::model {
namespace {

using namespace std::string_literals;

TEST(StoredLabels, NoneAreAbsent) {
  EXPECT_EQ(encode_labels({}), std::nullopt);
  EXPECT_EQ(decode_labels(""), Labels{});
}

TEST(StoredLabels, AreOneJsonObject) {
  const Labels labels{.tags = {"nightly", "say \"hi\""},
                      .metadata = R"({"b": 1.0, "a": [1, 2]})",
                      .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"};
  EXPECT_EQ(encode_labels(labels), R"({"tags":["nightly","say \"hi\""],"metadata":{"b": 1.0, "a": [1, 2]},)"
                                   R"("traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})");
}

TEST(StoredLabels, ReadBackAsTheyWereMetadataByteForByte) {
  for (const Labels& labels :
       {Labels{.tags = {"a"}}, Labels{.metadata = R"({"z":1.50,  "a":"\u0041"})"}, Labels{.traceparent = "00-x"},
        Labels{.forked_from = Uuid::parse("01890a5d-ac96-774b-bcce-b302099a8057")},
        Labels{.tags = {"a", "Zürich \n \" 😀"},
        .metadata = R"({"tags":["no"],"deep":{"}":"]"}})",
        .traceparent = "t",
        .tracestate = "a=b,c=\"d"}}) {
    EXPECT_EQ(decode_labels(encode_labels(labels).value()), labels);
  }
}

TEST(StoredLabels, MembersOfALaterReleaseArePassedOver) {
  EXPECT_EQ(decode_labels(R"({"colour":{"tags":1},"tags":["a"]})"), Labels{.tags = {"a"}});
}

TEST(StoredLabels, BrokenTextIsRefused) {
  EXPECT_THROW((void)decode_labels("{"), InvalidJson);
  EXPECT_THROW((void)decode_labels("[]"), InvalidJson);
  EXPECT_THROW((void)decode_labels(R"({"tags":1})"), InvalidJson);
  EXPECT_THROW((void)decode_labels(R"({"tags":[1]})"), InvalidJson);
}

TEST(StoredError, ReadsBackAsItWas) {
  const ErrorInfo error{.type = "Timeout", .message = "no \"answer\" from Zürich\n", .detail = "at line 7\tof \\ 9"};
  EXPECT_EQ(encode_error(error),
            R"({"type":"Timeout","message":"no \"answer\" from Zürich\n","detail":"at line 7\tof \\ 9"})");
  EXPECT_EQ(decode_error(encode_error(error)), error);
  EXPECT_EQ(decode_error(encode_error({})), ErrorInfo{});
}

TEST(StoredError, AnyBytesBecomeValidJson) {
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) { every_byte.push_back(static_cast<char>(static_cast<std::uint8_t>(byte))); }
  const std::string text = encode_error({.type = every_byte, .message = every_byte, .detail = every_byte});
  EXPECT_NO_THROW(base::check_json(text, "error"));
  EXPECT_EQ(decode_error(encode_error({.message = "a\0b\xff"s})).message, "a\\x00b\\xff");
}

TEST(StoredError, LongMessagesKeepTheirHeadAndLongDetailsTheirTail) {
  const ErrorInfo error = decode_error(encode_error({.type = "T" + std::string(10'000, 't'),
                                                     .message = "first" + std::string(1'000'000, 'm'),
                                                     .detail = std::string(1'000'000, 'd') + "last"}));
  EXPECT_EQ(error.type.size(), limits::name_bytes);
  EXPECT_EQ(error.message.size(), limits::error_message_bytes);
  EXPECT_EQ(error.message.substr(0, 6), "firstm");
  EXPECT_EQ(error.detail.size(), limits::error_detail_bytes);
  EXPECT_EQ(error.detail.substr(error.detail.size() - 5), "dlast");
}

TEST(StoredError, CutsAlsoWhatEscapingMadeLonger) {
  const ErrorInfo error = decode_error(
      encode_error({.message = std::string(100'000, '\xff'), .detail = std::string(100'000, '\0') + "last"}));
  EXPECT_LE(error.message.size(), limits::error_message_bytes);
  EXPECT_EQ(error.message.substr(0, 8), "\\xff\\xff");
  EXPECT_LE(error.detail.size(), limits::error_detail_bytes);
  EXPECT_EQ(error.detail.substr(error.detail.size() - 8), "\\x00last");
}

TEST(StoredError, BrokenTextIsRefused) {
  EXPECT_THROW((void)decode_error("oops"), InvalidJson);
  EXPECT_THROW((void)decode_error(R"({"type":1})"), InvalidJson);
}

TEST(MetadataFilter, IsAKeyAndAValueThatMayHaveAnEqualsSign) {
  const MetadataMatch match = parse_metadata_match("query=a=b");
  EXPECT_EQ(match.key, "query");
  EXPECT_EQ(match.value, "a=b");
  EXPECT_EQ(parse_metadata_match("empty=").value, "");
  EXPECT_THROW((void)parse_metadata_match("query"), InvalidArgument);
  EXPECT_THROW((void)parse_metadata_match("=b"), InvalidArgument);
  EXPECT_THROW((void)parse_metadata_match(""), InvalidArgument);
}

TEST(MetadataFilter, IsTextThatAStoreCanLookFor) {
  EXPECT_NO_THROW(check_metadata_matches({{.key = "k", .value = "v"}, {.key = "k", .value = ""}}));
  EXPECT_THROW(check_metadata_matches({{.key = "k", .value = "a\0b"s}}), InvalidArgument);
  EXPECT_THROW(check_metadata_matches({{.key = "\xff", .value = "v"}}), InvalidArgument);
  EXPECT_THROW(check_metadata_matches({{.key = std::string(limits::metadata_bytes + 1, 'k'), .value = "v"}}),
               InvalidArgument);
  EXPECT_THROW(check_metadata_matches(std::vector<MetadataMatch>(limits::tags + 1)), InvalidArgument);
}

}  // namespace
}  // namespace hapax::model
