// API tokens as the store keeps them: scopes, namespace and expiry. The store has a hash of the secret, never the
// secret.
#pragma once

#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include "base/sha256.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::model {

// Persisted as bits; never renumber.
enum class TokenScope : std::uint8_t {
  enqueue = 1,  // start executions, send events and signals
  read = 2,     // read everything in the namespace, payloads and results included
  work = 4,     // claim, finish, extend
  admin = 8,    // all other changes; includes all other scopes
};

// A set of scopes. A value type.
class Scopes {
 public:
  constexpr Scopes() = default;
  constexpr explicit Scopes(std::uint8_t bits) : bits_(bits) {}

  // Whether the set allows operations of this scope: admin allows everything.
  [[nodiscard]] constexpr bool allow(TokenScope scope) const { return has(scope) || has(TokenScope::admin); }
  [[nodiscard]] constexpr bool has(TokenScope scope) const { return (bits_ & static_cast<std::uint8_t>(scope)) != 0; }
  constexpr void add(TokenScope scope) { bits_ = static_cast<std::uint8_t>(bits_ | static_cast<std::uint8_t>(scope)); }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr std::uint8_t bits() const { return bits_; }
  friend constexpr bool operator==(Scopes, Scopes) = default;

 private:
  std::uint8_t bits_ = 0;
};

// Parses "enqueue,read". Throws InvalidArgument ("scopes") for an unknown name, a repeated name, or an empty list.
[[nodiscard]] Scopes parse_scopes(std::string_view text);
[[nodiscard]] std::string to_string(Scopes scopes);
[[nodiscard]] std::vector<std::string_view> scope_names(Scopes scopes);

struct NewToken {
  Uuid id;
  std::string namespace_name = "default";
  std::string name;  // a label, shown in the audit
  base::Digest hash{};
  Scopes scopes;
  std::optional<Duration> expires_in;  // from the store's now; none: never
};

// Audit detail of a new token: {"name":"billing","scopes":["read"],"expires_in":"90d"}.
[[nodiscard]] std::string describe(const NewToken& token);

struct Token {
  Uuid id;
  std::string namespace_name;
  std::string name;
  base::Digest hash{};
  Scopes scopes;
  Time created_at{};
  std::string created_by;
  std::optional<Time> expires_at;
  std::optional<Time> revoked_at;
  std::optional<Time> last_used_at;  // accurate to token_touch_every

  [[nodiscard]] bool is_good(Time now) const { return !revoked_at && (!expires_at || *expires_at > now); }
  // The token's name in the audit: "token billing (0193…)".
  [[nodiscard]] std::string actor() const;
};

// last_used_at is not written again within this time, which saves a write per request.
inline constexpr Duration token_touch_every = std::chrono::minutes(1);

}  // namespace hapax::model
