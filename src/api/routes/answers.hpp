// Input and output shared by routes: JSON bodies, query parameters, problems.
#pragma once

#include <hapax/error.hpp>
#include <hapax/time.hpp>

#include "base/json_out.hpp"
#include "base/json_view.hpp"
#include "http/call.hpp"
#include "http/problem_json.hpp"
#include "model/execution.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::api {

[[nodiscard]] http::Response json_answer(std::string body, int status = 200);
// Returns the text of an act's answer; "more":true means that the act was interrupted with work left.
[[nodiscard]] std::string with_more(base::JsonObject object, bool more);
[[nodiscard]] http::Response problem_answer_of(const http::Problem& problem);

// Throws InvalidArgument, with a suggestion, for a query parameter that is not in `known`.
void check_query(const http::Request& request, std::initializer_list<std::string_view> known);
[[nodiscard]] int query_number(const http::Request& request, std::string_view name, int usual, int most);
[[nodiscard]] bool query_flag(const http::Request& request, std::string_view name, bool usual);

// The caller, for the audit: "api (billing)", "command line (ada@host)".
[[nodiscard]] std::string actor_of(const http::Principal& principal);

// The execution that the path names. Throws NotFound for text that is no ID, as no execution can have it.
[[nodiscard]] Uuid path_id(const http::Call& call, std::string_view name = "id");

// The queue that the path names, in the caller's namespace.
[[nodiscard]] model::QueueRef path_queue(const http::Call& call);

}  // namespace hapax::api
