#include "http/principal.hpp"

#include <hapax/error.hpp>

#include "model/validate.hpp"

namespace hapax::http {

std::string_view to_string(Scope scope) {
  switch (scope) {
    case Scope::none: return "none";
    case Scope::enqueue: return "enqueue";
    case Scope::read: return "read";
    case Scope::work: return "work";
    case Scope::admin: return "admin";
  }
  return "none";
}

bool Principal::may(Scope scope) const {
  switch (scope) {
    case Scope::none: return true;
    case Scope::enqueue: return enqueue;
    case Scope::read: return read;
    case Scope::work: return work;
    case Scope::admin: return admin;
  }
  return false;
}

Principal AnonymousAuthenticator::authenticate(const Request& request) {
  Principal principal{.enqueue = true, .read = true, .work = true, .admin = true};
  const auto named = request.header_values("hapax-namespace");
  if (named.size() > 1) { throw InvalidArgument("Hapax-Namespace", "is given twice; expected one header"); }
  if (!named.empty()) {
    principal.namespace_name = named.front();
    model::check_name(principal.namespace_name, "Hapax-Namespace");
  }
  return principal;
}

}  // namespace hapax::http
