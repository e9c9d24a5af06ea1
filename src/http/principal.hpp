// The caller of a request and its permissions: the result of authentication.
#pragma once

#include "http/request.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hapax::http {

// The permission that a route requires of its caller.
enum class Scope : std::uint8_t {
  none,  // anybody, without a token: probes and the API's own description
  enqueue,
  read,
  work,
  admin,
};
[[nodiscard]] std::string_view to_string(Scope scope);

struct Principal {
  std::string namespace_name = "default";
  std::string channel = "api";     // how the caller came here, for the audit: "api", or "command line"
  std::string name = "anonymous";  // the token's label, for logs and the audit; never the token itself
  bool enqueue = false;
  bool read = false;
  bool work = false;
  bool admin = false;

  [[nodiscard]] bool may(Scope scope) const;
};

// Finds out who sent a request. One per server; called by any of its threads, for each request to a route with a scope.
// Throws Unauthorized; never puts any part of a token into a message.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // Runs on the event loop: must not block for longer than a look-up in memory. None: call authenticate().
  [[nodiscard]] virtual std::optional<Principal> recall(const Request& request) = 0;
  // Runs on a store thread.
  [[nodiscard]] virtual Principal authenticate(const Request& request) = 0;
  // A server without tokens listens on loopback addresses only.
  [[nodiscard]] virtual bool has_tokens() const = 0;
};

// For a server without tokens: everybody may do everything, in the namespace that the Hapax-Namespace header names.
class AnonymousAuthenticator : public Authenticator {
 public:
  [[nodiscard]] std::optional<Principal> recall(const Request& request) override { return authenticate(request); }
  // Throws InvalidArgument for an invalid namespace.
  [[nodiscard]] Principal authenticate(const Request& request) override;
  [[nodiscard]] bool has_tokens() const override { return false; }
};

}  // namespace hapax::http
