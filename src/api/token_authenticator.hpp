// TokenAuthenticator: bearer tokens of the store and of a file.
//
// While there are no tokens, everybody may do everything, in the namespace that the Hapax-Namespace header names; such
// a server listens on loopback addresses only. With tokens, the token decides the namespace. No message tells why a
// token is refused, and none contains any part of a token.
#pragma once

#include "app/tokens/token_book.hpp"
#include "http/principal.hpp"

#include <memory>
#include <optional>

namespace hapax::api {

class TokenAuthenticator final : public http::Authenticator {
 public:
  explicit TokenAuthenticator(std::shared_ptr<auth::TokenBook> book) : book_(std::move(book)) {}

  [[nodiscard]] std::optional<http::Principal> recall(const http::Request& request) override;
  [[nodiscard]] http::Principal authenticate(const http::Request& request) override;
  // Asks the store whether it has tokens.
  [[nodiscard]] bool has_tokens() const override;

 private:
  const std::shared_ptr<auth::TokenBook> book_;
  http::AnonymousAuthenticator anybody_;
};

}  // namespace hapax::api
