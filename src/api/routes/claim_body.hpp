// The bodies of the worker protocol's requests, and IDs of worker sessions.
//
// A session's ID is a UUIDv7 whose last four bytes are a checksum over the rest and the namespace. The ID is a
// capability: its owner can renew the session and release its claims. The checksum makes another tenant's ID count as
// unknown on every server, without a store read.
#pragma once

#include <hapax/uuid.hpp>

#include "api/routes/answers.hpp"
#include "api/routes/remote_sessions.hpp"
#include "base/limits.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::api {

[[nodiscard]] Uuid new_session_id(std::string_view namespace_name);
[[nodiscard]] bool is_session_of(std::string_view namespace_name, const Uuid& id);

// The most bytes of inputs in one answer: 100 of the usual largest size.
inline constexpr std::size_t claims_bytes = 100 * limits::payload_default;

// All readers throw InvalidArgument that names the member.
[[nodiscard]] Duration lease_of(const base::JsonView& body);
// Throws StaleLease for a session of another namespace.
[[nodiscard]] Uuid session_of(const base::JsonView& body, const std::string& namespace_name);
[[nodiscard]] ClaimOrder order_of(const base::JsonView& body, const http::Call& call);

// The reports of POST /v1/claims/finish.
[[nodiscard]] std::vector<ReportedOutcome> outcomes_of(const base::JsonView& body);
// The depth of an outcome's result in the body: the object, its array, an item.
inline constexpr std::size_t outcome_levels = 3;

// Adds "progress" and "held" to the beat. When a worker lists all claims that it holds, the server releases its other
// claims, whose answers never arrived.
void read_progress(model::Beat& beat, const base::JsonView& body);
void read_held(model::Beat& beat, const base::JsonView& body);

// 409 StaleLease with these facts.
[[nodiscard]] http::Response stale_answer(const std::string& message, const std::string& facts);

}  // namespace hapax::api
