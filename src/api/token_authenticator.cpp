#include "api/token_authenticator.hpp"

#include "http/http_error.hpp"

#include <algorithm>
#include <string_view>

namespace hapax::api {

namespace {

using NeedsToken = auth::TokenBook::NeedsToken;

constexpr std::string_view scheme = "bearer ";

bool is_bearer(std::string_view value) {
  return value.size() > scheme.size() && std::ranges::equal(value.substr(0, scheme.size()), scheme, [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

[[noreturn]] void refuse() {
  throw http::Unauthorized(
      "the token is not valid; expected the header Authorization: Bearer with a valid token (hapax token create)");
}

// A token in a URL would end up in logs, histories and referrers.
void refuse_in_address(const http::Request& request) {
  for (const auto& [name, value] : request.query) {
    if (name == "token" || name == "access_token" || value.starts_with(auth::secret_prefix)) {
      throw http::Unauthorized("a token must not be in the URL; expected the header Authorization: Bearer");
    }
  }
}

base::Digest hash_in(const http::Request& request) {
  refuse_in_address(request);
  const std::vector<std::string_view> given = request.header_values("authorization");
  if (given.empty()) {
    throw http::Unauthorized("a token is needed; expected the header Authorization: Bearer (hapax token create)");
  }
  if (given.size() > 1 || !is_bearer(given.front())) { refuse(); }
  std::string_view text = given.front().substr(scheme.size());
  while (text.starts_with(' ')) { text.remove_prefix(1); }
  const std::optional<base::Digest> hash = auth::hash_of(text);
  if (!hash) { refuse(); }
  return *hash;
}

http::Principal principal_of(const auth::TokenBook::Answer& answer) {
  if (!answer.token) { refuse(); }
  const model::Token& token = *answer.token;
  return {.namespace_name = token.namespace_name,
          .name = token.actor(),
          .enqueue = token.scopes.allow(model::TokenScope::enqueue),
          .read = token.scopes.allow(model::TokenScope::read),
          .work = token.scopes.allow(model::TokenScope::work),
          .admin = token.scopes.allow(model::TokenScope::admin)};
}

}  // namespace

std::optional<http::Principal> TokenAuthenticator::recall(const http::Request& request) {
  const NeedsToken needs_token = book_->recall_needs_token();
  if (needs_token == NeedsToken::unknown) { return std::nullopt; }
  if (needs_token == NeedsToken::no) { return anybody_.authenticate(request); }
  const std::optional<auth::TokenBook::Answer> known = book_->recall(hash_in(request));
  return known ? std::optional(principal_of(*known)) : std::nullopt;
}

http::Principal TokenAuthenticator::authenticate(const http::Request& request) {
  if (book_->look_up_needs_token() == NeedsToken::no) { return anybody_.authenticate(request); }
  const base::Digest hash = hash_in(request);
  const std::optional<auth::TokenBook::Answer> known = book_->recall(hash);
  return principal_of(known ? *known : book_->look_up(hash));
}

bool TokenAuthenticator::has_tokens() const { return book_->look_up_needs_token() == NeedsToken::yes; }

}  // namespace hapax::api
