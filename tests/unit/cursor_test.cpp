#include "api/routes/cursor.hpp"

#include <hapax/error.hpp>

#include "api/routes/claim_body.hpp"
#include "base/uuid7.hpp"

#include <gtest/gtest.h>

namespace hapax::api {
namespace {

TEST(Cursor, IsReadBackForItsListAndNamespaceOnly) {
  const Uuid id = base::new_uuid7();
  const std::string cursor = make_cursor(id, {.namespace_name = "shop", .list = "status=failed\n"});
  EXPECT_EQ(parse_cursor(cursor, {.namespace_name = "shop", .list = "status=failed\n"}), id);
  EXPECT_THROW((void)parse_cursor(cursor, {.namespace_name = "bank", .list = "status=failed\n"}), InvalidArgument);
  EXPECT_THROW((void)parse_cursor(cursor, {.namespace_name = "shop", .list = ""}), InvalidArgument);
  // The namespace is hashed with its length, so its end cannot be shifted into the list's text.
  EXPECT_THROW((void)parse_cursor(cursor, {.namespace_name = "shopstatus=failed\n", .list = ""}), InvalidArgument);
}

TEST(Cursor, EveryLetterCounts) {
  const std::string cursor = make_cursor(base::new_uuid7(), {.namespace_name = "shop", .list = ""});
  for (std::size_t i = 0; i < cursor.size(); ++i) {
    std::string other = cursor;
    other[i] = other[i] == '0' ? '1' : '0';
    EXPECT_THROW((void)parse_cursor(other, {.namespace_name = "shop", .list = ""}), InvalidArgument) << i;
  }
  EXPECT_THROW((void)parse_cursor("", {.namespace_name = "shop", .list = ""}), InvalidArgument);
  EXPECT_THROW((void)parse_cursor(cursor + "0", {.namespace_name = "shop", .list = ""}), InvalidArgument);
}

TEST(Cursor, ANameIsCheckedLikeAnId) {
  const CursorPlace place{.namespace_name = "shop", .list = "activities"};
  const std::string cursor = make_name_cursor("daily", place);
  EXPECT_EQ(parse_name_cursor(cursor, place), "daily");
  for (const std::string& other :
       {std::string(), std::string("zzzz"), std::string("daily"), cursor + "x", cursor.substr(1)}) {
    EXPECT_THROW((void)parse_name_cursor(other, place), InvalidArgument) << other;
  }
  EXPECT_THROW((void)parse_name_cursor(cursor, {.namespace_name = "bank", .list = "activities"}), InvalidArgument);
}

TEST(SessionId, BelongsToOneNamespace) {
  const Uuid id = new_session_id("shop");
  EXPECT_TRUE(is_session_of("shop", id));
  EXPECT_FALSE(is_session_of("bank", id));
  EXPECT_FALSE(is_session_of("", id));
  EXPECT_NE(id, new_session_id("shop"));
  EXPECT_FALSE(is_session_of("shop", base::new_uuid7()));
}

}  // namespace
}  // namespace hapax::api
