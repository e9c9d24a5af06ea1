// Answers a request by the handlers of a router, in this process: without a server, a socket or an event loop.
#pragma once

#include "http/api_question.hpp"
#include "http/principal.hpp"
#include "http/request.hpp"
#include "http/router.hpp"

namespace hapax::http {

// Runs the route's handler to its end on the calling thread. Where a served call would let its thread serve other
// requests, this one blocks. The caller is trusted: it says who it is, and its target and body may have any size. The pieces of a
// stream are collected into the answer's body, so a stream of events, which never ends, is refused with Unsupported.
// Returns a refusal that the handler answers as a problem document; throws an error that the handler throws, with its
// own type. Any thread may call it.
[[nodiscard]] Response answer_locally(const Router& router, const Principal& principal, const Question& question);

}  // namespace hapax::http
