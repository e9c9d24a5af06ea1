// Tokens in the store.
#include "conformance/fixture.hpp"

#include <gmock/gmock.h>

namespace hapax::conformance {

namespace {

using ::testing::IsEmpty;

class TokenConformance : public Conformance {
 protected:
  static NewToken fresh(const std::string& name, const std::string& namespace_name = "default") {
    NewToken token;
    token.id = base::new_uuid7();
    token.namespace_name = namespace_name;
    token.name = name;
    token.hash = base::sha256(name + " of " + namespace_name);
    token.scopes = parse_scopes("enqueue,read");
    return token;
  }
  Token add(const NewToken& token) { return store().add_token(token, {"ann"}); }
};

TEST_F(TokenConformance, ATokenIsFoundByItsHashAlone) {
  EXPECT_FALSE(store().has_tokens());
  const NewToken made = fresh("billing", "shop");
  const Token kept = add(made);
  EXPECT_TRUE(second()->has_tokens());
  const std::optional<Token> found = second()->find_token(made.hash);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->id, made.id);
  EXPECT_EQ(found->namespace_name, "shop");
  EXPECT_EQ(found->name, "billing");
  EXPECT_EQ(found->hash, made.hash);
  EXPECT_EQ(found->scopes, made.scopes);
  EXPECT_EQ(found->created_by, "ann");
  EXPECT_EQ(found->created_at, kept.created_at);
  EXPECT_EQ(found->expires_at, std::nullopt);
  EXPECT_EQ(found->revoked_at, std::nullopt);
  EXPECT_EQ(found->last_used_at, std::nullopt);
  EXPECT_FALSE(store().find_token(base::sha256("another")).has_value());
}

TEST_F(TokenConformance, NamespacesHaveTokensOfTheirOwn) {
  const NewToken one = fresh("one");
  const NewToken two = fresh("two");
  const NewToken foreign = fresh("one", "shop");
  for (const NewToken& token : {one, two, foreign}) { (void)add(token); }
  const std::vector<Token> own = second()->tokens("default");
  ASSERT_EQ(own.size(), 2U);
  EXPECT_EQ(own[0].id, one.id);
  EXPECT_EQ(own[1].id, two.id);
  EXPECT_EQ(store().tokens("shop").size(), 1U);
  EXPECT_THAT(store().tokens("elsewhere"), IsEmpty());
}

TEST_F(TokenConformance, ATokenIsGoodUntilItExpiresByTheStoresClock) {
  NewToken made = fresh("short");
  made.expires_in = 1h;
  const Token kept = add(made);
  EXPECT_EQ(kept.expires_at, kept.created_at + 1h);
  EXPECT_TRUE(kept.is_good(store().now()));
  advance(59min);
  EXPECT_TRUE(store().find_token(made.hash)->is_good(store().now()));
  advance(2min);
  EXPECT_FALSE(store().find_token(made.hash)->is_good(store().now()));
}

TEST_F(TokenConformance, ARevokedTokenStaysAndIsGoodNoMore) {
  const NewToken made = fresh("leaked");
  (void)add(made);
  EXPECT_FALSE(store().revoke_token("shop", made.id, {"mallory"})) << "it is another namespace's";
  EXPECT_TRUE(store().find_token(made.hash)->is_good(store().now()));
  EXPECT_TRUE(store().revoke_token("default", made.id, {"bob"}));
  EXPECT_FALSE(second()->revoke_token("default", made.id, {"bob"})) << "it is revoked already";
  EXPECT_FALSE(store().revoke_token("default", base::new_uuid7(), {"bob"}));
  const std::optional<Token> found = second()->find_token(made.hash);
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->is_good(store().now()));
  EXPECT_TRUE(found->revoked_at.has_value());
  EXPECT_TRUE(store().has_tokens()) << "the last one revoked must not open a server";
}

TEST_F(TokenConformance, AddedAgainUnderItsIdItIsTheSame) {
  const NewToken made = fresh("again");
  const Token first = add(made);
  advance(1min);
  EXPECT_EQ(add(made).created_at, first.created_at);
  EXPECT_EQ(store().tokens("default").size(), 1U);
  EXPECT_EQ(store().audit("default", 10).size(), 1U);
}

TEST_F(TokenConformance, UseIsNotedToTheMinute) {
  const NewToken made = fresh("busy");
  const NewToken idle = fresh("idle");
  (void)add(made);
  (void)add(idle);
  store().touch_tokens({&made.id, 1});
  const std::optional<Time> first = store().find_token(made.hash)->last_used_at;
  ASSERT_TRUE(first.has_value());
  advance(30s);
  store().touch_tokens({&made.id, 1});
  EXPECT_EQ(store().find_token(made.hash)->last_used_at, first);
  advance(31s);
  store().touch_tokens({&made.id, 1});
  EXPECT_GE(store().find_token(made.hash)->last_used_at, *first + 1min);
  EXPECT_EQ(store().find_token(idle.hash)->last_used_at, std::nullopt);
  store().touch_tokens({});
}

TEST_F(TokenConformance, MakingAndRevokingStandInTheAudit) {
  NewToken made = fresh("billing", "shop");
  made.expires_in = 90 * 24h;
  (void)add(made);
  EXPECT_TRUE(store().revoke_token("shop", made.id, {"bob"}));
  const std::vector<AuditLine> lines = store().audit("shop", 10);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].action, "token.revoke");
  EXPECT_EQ(lines[0].actor, "bob");
  EXPECT_EQ(lines[0].subject, made.id.to_string());
  EXPECT_EQ(lines[1].action, "token.create");
  EXPECT_EQ(lines[1].actor, "ann");
  EXPECT_EQ(lines[1].detail, R"({"name":"billing","scopes":["enqueue","read"],"expires_in":"90d"})");
}

}  // namespace

}  // namespace hapax::conformance
