// Operations: tokens.
#include <hapax/error.hpp>

#include "app/operations.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace hapax::app {

namespace {

// The token that a text names: by its ID, or by the name that only one good token has.
model::Token find_token(store::Store& store, const std::string& namespace_name, const std::string& named) {
  const std::vector<model::Token> tokens = store.tokens(namespace_name);
  const std::optional<Uuid> id = Uuid::parse(named);
  const Time now = store.now();
  std::vector<const model::Token*> found;
  for (const model::Token& token : tokens) {
    if (id ? token.id == *id : token.name == named && token.is_good(now)) { found.push_back(&token); }
  }
  if (found.empty()) {
    std::vector<std::string> names;
    for (const model::Token& token : tokens) {
      if (token.is_good(now)) { names.push_back(token.name); }
    }
    throw NotFound("no " + std::string(id ? "" : "good ") + "token " + base::quoted(named) + " in namespace '" +
                   namespace_name + "'" + base::did_you_mean(named, names, '\''));
  }
  if (found.size() > 1) {
    throw UsageError(std::to_string(found.size()) + " good tokens are named " + base::quoted(named) +
                     "; name one by its id (hapax token list)");
  }
  return *found.front();
}

}  // namespace

model::Token Operations::add_token(model::NewToken token) const {
  token.namespace_name = namespace_name_;
  const Time now = store().now();
  const std::vector<model::Token> known = store().tokens(namespace_name_);
  const auto good = std::ranges::count_if(known, [now](const model::Token& each) { return each.is_good(now); });
  if (good >= limits::tokens) {
    throw InvalidArgument("namespace", "'" + namespace_name_ + "' has " + std::to_string(good) +
                                           " good tokens already, which is the limit; revoke some");
  }
  return store().add_token(token, by_);
}

model::Token Operations::revoke_token(const std::string& id_or_name) const {
  model::Token token = find_token(store(), namespace_name_, id_or_name);
  if (!store().revoke_token(namespace_name_, token.id, by_)) {
    throw NotFound("token " + token.id.to_string() + " was revoked already");
  }
  return token;
}

}  // namespace hapax::app
