#include "api/token_authenticator.hpp"

#include "base/uuid7.hpp"
#include "http/http_error.hpp"
#include "store/open.hpp"

#include <gmock/gmock.h>

namespace hapax::api {

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TokenAuthenticatorTest : public ::testing::Test {
 protected:
  std::string make(const std::string& scopes, const std::string& namespace_name = "shop") {
    auth::Secret secret = auth::new_secret(random_);
    model::NewToken token;
    token.id = base::new_uuid7();
    token.namespace_name = namespace_name;
    token.name = "billing";
    token.hash = secret.hash;
    token.scopes = model::parse_scopes(scopes);
    last_ = store_->add_token(token, {"ann"});
    return secret.text;
  }

  // Asks as the server does: first the cache, then the store.
  http::Principal ask(const http::Request& request) {
    std::optional<http::Principal> known = authenticator_.recall(request);
    return known ? *std::move(known) : authenticator_.authenticate(request);
  }
  http::Principal ask_with(const std::string& authorization) {
    http::Request request;
    request.headers.push_back({.name = "authorization", .value = authorization});
    return ask(request);
  }

  // Every refusal has the same message and the header of RFC 6750, and does not contain the token.
  void expect_refused(const http::Request& request, const std::string& secret = "hapax_") {
    try {
      (void)ask(request);
      ADD_FAILURE() << "it was let in";
    } catch (const http::Unauthorized& error) {
      EXPECT_EQ(error.status(), 401);
      EXPECT_EQ(error.headers().at(0).first, "WWW-Authenticate");
      EXPECT_EQ(error.headers().at(0).second, "Bearer");
      EXPECT_THAT(error.what(), Not(HasSubstr(secret)));
    }
  }
  void expect_refused(const std::string& authorization) {
    http::Request request;
    request.headers.push_back({.name = "authorization", .value = authorization});
    expect_refused(request);
  }

  base::SeededRandom random_{21};
  const std::shared_ptr<base::ManualClock> clock_ =
      std::make_shared<base::ManualClock>(parse_time("2026-03-01T09:00:00Z"));
  const std::shared_ptr<store::Store> store_ = store::open("memory:", {.clock = clock_});
  TokenAuthenticator authenticator_{
      std::make_shared<auth::TokenBook>(store_, auth::BookOptions{.file = "", .clock = clock_})};
  model::Token last_;
};

TEST_F(TokenAuthenticatorTest, WithoutTokensEverybodyMayEverythingInTheNamespaceTheyName) {
  EXPECT_FALSE(authenticator_.has_tokens());
  http::Request request;
  EXPECT_EQ(ask(request).namespace_name, "default");
  request.headers.push_back({.name = "hapax-namespace", .value = "shop"});
  const http::Principal principal = ask(request);
  EXPECT_EQ(principal.namespace_name, "shop");
  EXPECT_TRUE(principal.may(http::Scope::admin));
}

TEST_F(TokenAuthenticatorTest, ATokenSaysWhoWhereAndWhat) {
  const std::string secret = make("enqueue,read");
  EXPECT_TRUE(authenticator_.has_tokens());
  for (const std::string scheme : {"Bearer ", "bearer ", "BEARER  "}) {
    const http::Principal principal = ask_with(scheme + secret);
    EXPECT_EQ(principal.namespace_name, "shop");
    EXPECT_EQ(principal.name, "token billing (" + last_.id.to_string() + ")");
    EXPECT_TRUE(principal.may(http::Scope::enqueue) && principal.may(http::Scope::read));
    EXPECT_FALSE(principal.may(http::Scope::work) || principal.may(http::Scope::admin));
  }
}

TEST_F(TokenAuthenticatorTest, TheHeaderChoosesNoNamespaceWhenThereAreTokens) {
  const std::string secret = "Bearer " + make("read");
  http::Request request;
  request.headers.push_back({.name = "authorization", .value = secret});
  request.headers.push_back({.name = "hapax-namespace", .value = "another"});
  EXPECT_EQ(ask(request).namespace_name, "shop");
}

TEST_F(TokenAuthenticatorTest, AdminMayEverything) {
  const http::Principal principal = ask_with("Bearer " + make("admin"));
  for (const http::Scope scope : {http::Scope::enqueue, http::Scope::read, http::Scope::work, http::Scope::admin}) {
    EXPECT_TRUE(principal.may(scope));
  }
}

TEST_F(TokenAuthenticatorTest, WhatIsNoGoodTokenIsRefused) {
  const std::string secret = make("admin");
  expect_refused(http::Request());
  base::SeededRandom random(99);
  std::string torn = secret;
  torn.pop_back();
  for (const std::string& bad :
       {std::string(), std::string("Bearer"), std::string("Bearer "), secret, "Basic " + secret, "Bearer " + torn,
        "Bearer " + secret + " x", "Bearer " + auth::new_secret(random).text, "Bearer\t" + secret,
        "Bearer " + std::string(100'000, 'x')}) {
    expect_refused(bad);
  }
}

TEST_F(TokenAuthenticatorTest, TwoTokensAreNone) {
  const std::string secret = "Bearer " + make("admin");
  http::Request request;
  request.headers.push_back({.name = "authorization", .value = secret});
  request.headers.push_back({.name = "authorization", .value = secret});
  expect_refused(request);
}

TEST_F(TokenAuthenticatorTest, ATokenInTheAddressIsRefusedAlsoBesideAGoodHeader) {
  const std::string secret = make("admin");
  const std::string header = "Bearer " + secret;
  for (const auto& [name, value] :
       {std::pair("token", "x"), std::pair("access_token", "x"), std::pair("q", secret.c_str())}) {
    http::Request request;
    request.query.emplace_back(name, value);
    request.headers.push_back({.name = "authorization", .value = header});
    expect_refused(request, secret);
  }
}

TEST_F(TokenAuthenticatorTest, ARevokedTokenIsRefusedWithinFiveSecondsAndTheDoorStaysShut) {
  const std::string secret = "Bearer " + make("admin");
  EXPECT_TRUE(ask_with(secret).admin);
  EXPECT_TRUE(store_->revoke_token("shop", last_.id, {"ann"}));
  clock_->advance(std::chrono::seconds(5));
  expect_refused(secret);
  expect_refused(http::Request());
}

}  // namespace

}  // namespace hapax::api
