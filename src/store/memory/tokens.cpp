#include "store/memory/verbs.hpp"

#include <algorithm>

namespace hapax::store::memory {

namespace {

Token* find_by_id(State& state, const Uuid& id) {
  const auto found = std::ranges::find(state.tokens, id, &Token::id);
  return found == state.tokens.end() ? nullptr : &*found;
}

}  // namespace

Token add_token(State& state, const NewToken& token, const Actor& by, Time now) {
  if (const Token* const there = find_by_id(state, token.id)) { return *there; }
  Token made{.id = token.id,
             .namespace_name = token.namespace_name,
             .name = token.name,
             .hash = token.hash,
             .scopes = token.scopes,
             .created_at = now,
             .created_by = by.name};
  if (token.expires_in) { made.expires_at = now + *token.expires_in; }
  state.tokens.push_back(made);
  state.write_audit(made.namespace_name, by.name, "token.create", made.id.to_string(), describe(token), now);
  return made;
}

std::vector<Token> tokens(const State& state, std::string_view namespace_name) {
  std::vector<Token> some;
  std::ranges::copy_if(state.tokens, std::back_inserter(some),
                       [namespace_name](const Token& token) { return token.namespace_name == namespace_name; });
  return some;
}

std::optional<Token> find_token(const State& state, const base::Digest& hash) {
  const auto found = std::ranges::find(state.tokens, hash, &Token::hash);
  return found == state.tokens.end() ? std::nullopt : std::optional(*found);
}

bool revoke_token(State& state, std::string_view namespace_name, const Uuid& id, const Actor& by, Time now) {
  Token* const token = find_by_id(state, id);
  if (token == nullptr || token->namespace_name != namespace_name || token->revoked_at) { return false; }
  token->revoked_at = now;
  state.write_audit(namespace_name, by.name, "token.revoke", id.to_string(), token->name, now);
  return true;
}

void touch_tokens(State& state, std::span<const Uuid> ids, Time now) {
  for (const Uuid& id : ids) {
    Token* const token = find_by_id(state, id);
    if (token != nullptr && (!token->last_used_at || *token->last_used_at <= now - token_touch_every)) {
      token->last_used_at = now;
    }
  }
}

}  // namespace hapax::store::memory
