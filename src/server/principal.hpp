// Who asks, and what they may: the outcome of authentication.
#pragma once

#include "server/request.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hapax::server {

// What a route asks of its caller.
enum class Scope : std::uint8_t {
  none,  // anybody, without a token: probes and the API's own description
  enqueue,
  read,
  work,
  admin,
};
[[nodiscard]] std::string_view to_string(Scope scope);

struct Principal {
  std::string ns = "default";
  std::string name = "anonymous";  // the token's label, for logs and the audit; never the token
  bool enqueue = false;
  bool read = false;
  bool work = false;
  bool admin = false;

  [[nodiscard]] bool may(Scope scope) const;
};

// Tells who a request comes from. One for the whole server; called by any of its threads, for each request to a route with
// a scope. Throws Unauthorized; never puts any part of a token into a message.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // On the event loop: must not block for longer than a look into memory. Nothing: authenticate() has to be asked.
  [[nodiscard]] virtual std::optional<Principal> recall(const Request& request) = 0;
  // On a store thread.
  [[nodiscard]] virtual Principal authenticate(const Request& request) = 0;
  // Without tokens a server listens on loopback addresses only (SPEC X1).
  [[nodiscard]] virtual bool has_tokens() const = 0;
};

// No tokens: everybody may do everything, in the namespace that the header Hapax-Namespace names.
class AnonymousAuthenticator : public Authenticator {
 public:
  [[nodiscard]] std::optional<Principal> recall(const Request& request) override { return authenticate(request); }
  // Throws InvalidArgument for a namespace that cannot be one.
  [[nodiscard]] Principal authenticate(const Request& request) override;
  [[nodiscard]] bool has_tokens() const override { return false; }
};

}  // namespace hapax::server
