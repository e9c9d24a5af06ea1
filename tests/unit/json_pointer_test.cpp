#include "base/json_pointer.hpp"

#include <hapax/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hapax::base {
namespace {

TEST(JsonPointer, PointsWhereRfc6901Says) {
  // The examples of RFC 6901, section 5.
  constexpr auto document =
      R"({"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8})";
  const struct {
    std::string_view pointer;
    std::string_view value;
  } rows[] = {{"/foo", R"(["bar", "baz"])"},
              {"/foo/0", R"("bar")"},
              {"/", "0"},
              {"/a~1b", "1"},
              {"/c%d", "2"},
              {"/e^f", "3"},
              {"/g|h", "4"},
              {"/i\\j", "5"},
              {"/k\"l", "6"},
              {"/ ", "7"},
              {"/m~0n", "8"}};
  for (const auto& row : rows) {
    EXPECT_NO_THROW(check_json_pointer(row.pointer, "keys"));
    EXPECT_EQ(find_json_pointer(document, row.pointer), row.value) << row.pointer;
  }
  EXPECT_EQ(find_json_pointer(" {\"a\": 1} ", ""), "{\"a\": 1}") << "the whole value";
}

TEST(JsonPointer, FindsNothingWhereThereIsNothing) {
  constexpr auto document = R"({"a": {"b": [1, [2, 3]]}, "n": null, "s": "text"})";
  EXPECT_EQ(find_json_pointer(document, "/a/b/1/0"), "2");
  EXPECT_EQ(find_json_pointer(document, "/n"), "null");
  for (const char* pointer : {"/x", "/a/b/2", "/a/b/01", "/a/b/-", "/a/b/-1", "/n/x", "/s/0", "/a/b/0/0", "/a/b/",
                              "/a/b/99999999999999999999"}) {
    EXPECT_FALSE(find_json_pointer(document, pointer)) << pointer;
  }
}

TEST(JsonPointer, RefusesWhatIsNone) {
  for (const std::string& pointer : {std::string("customer_id"), std::string("/a~"), std::string("/a~2"),
                                     std::string("/\xff"), "/" + std::string(300, 'x')}) {
    try {
      check_json_pointer(pointer, "identity_keys");
      ADD_FAILURE() << pointer;
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.field(), "identity_keys");
      EXPECT_NE(std::string(error.what()).find("such as \"/customer_id\""), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace hapax::base
