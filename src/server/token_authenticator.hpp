// TokenAuthenticator: bearer tokens of the store and of a file (SPEC X2).
//
// As long as there are none, everybody may do everything, in the namespace that the header Hapax-Namespace names; such a
// server listens on loopback addresses only (X1). With tokens, the token says the namespace. What is wrong with a token is
// not told, and no part of it is in any message.
#pragma once

#include "auth/token_book.hpp"
#include "server/principal.hpp"

#include <memory>
#include <optional>

namespace hapax::server {

class TokenAuthenticator final : public Authenticator {
 public:
  explicit TokenAuthenticator(std::shared_ptr<auth::TokenBook> book) : book_(std::move(book)) {}

  [[nodiscard]] std::optional<Principal> recall(const Request& request) override;
  [[nodiscard]] Principal authenticate(const Request& request) override;
  // Asks the store.
  [[nodiscard]] bool has_tokens() const override;

 private:
  const std::shared_ptr<auth::TokenBook> book_;
  AnonymousAuthenticator anybody_;
};

}  // namespace hapax::server
