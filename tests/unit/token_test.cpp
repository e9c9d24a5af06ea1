#include "model/token.hpp"

#include <hapax/error.hpp>

#include <gtest/gtest.h>

namespace hapax::model {

namespace {

TEST(Scopes, AreReadAndWrittenByName) {
  EXPECT_EQ(to_string(parse_scopes("read,enqueue")), "enqueue,read");
  EXPECT_EQ(to_string(parse_scopes("admin")), "admin");
  EXPECT_EQ(parse_scopes("enqueue,read,work,admin").bits(), 15);
}

TEST(Scopes, WhatIsNoneIsRefusedWithASuggestion) {
  for (const char* const bad : {"", ",", "read,", ",read", "read,,work", "Read", "all", "read read", "read,read"}) {
    EXPECT_THROW((void)parse_scopes(bad), InvalidArgument) << bad;
  }
  try {
    (void)parse_scopes("enqeue");
    ADD_FAILURE();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("\"enqueue\""), std::string::npos);
  }
}

TEST(Scopes, AdminAllowsAllAndNoOtherMoreThanItself) {
  const TokenScope all[] = {TokenScope::enqueue, TokenScope::read, TokenScope::work, TokenScope::admin};
  for (const TokenScope has : all) {
    Scopes scopes;
    scopes.add(has);
    for (const TokenScope asked : all) { EXPECT_EQ(scopes.allow(asked), has == asked || has == TokenScope::admin); }
  }
  for (const TokenScope asked : all) { EXPECT_FALSE(Scopes().allow(asked)); }
}

TEST(Token, IsGoodUntilItsEnd) {
  const Time now{std::chrono::hours(1)};
  Token token;
  EXPECT_TRUE(token.is_good(now));
  token.expires_at = now;
  EXPECT_FALSE(token.is_good(now));
  token.expires_at = now + Duration(1);
  EXPECT_TRUE(token.is_good(now));
  token.revoked_at = now;
  EXPECT_FALSE(token.is_good(now));
}

TEST(Token, IsCalledByNameAndId) {
  Token token;
  token.id = *Uuid::parse("0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f");
  EXPECT_EQ(token.actor(), "token 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f");
  token.name = "billing";
  EXPECT_EQ(token.actor(), "token billing (0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f)");
}

}  // namespace

}  // namespace hapax::model
