// Input and output shared by routes: JSON bodies, query parameters, problems.
#pragma once

#include <hapax/error.hpp>
#include <hapax/time.hpp>

#include "base/json_out.hpp"
#include "base/json_text.hpp"
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

// The members of a request's JSON object, by name. Unknown members are errors with a suggestion; null counts as absent.
// Every reader throws InvalidArgument that names the member. Points into the text.
class Members {
 public:
  // An empty text reads as {}. Throws InvalidJson with the byte offset. `around`: as in check_json.
  Members(std::string_view text, std::initializer_list<std::string_view> known, std::string_view field = "body",
          std::size_t around = 0);

  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  [[nodiscard]] std::string require_text(std::string_view name, std::string_view example) const;
  [[nodiscard]] std::optional<Duration> duration(std::string_view name) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
  // The bytes of any value.
  [[nodiscard]] std::optional<std::string_view> json(std::string_view name) const;
  // The items of an array; empty if the member is absent.
  [[nodiscard]] std::vector<std::string_view> items(std::string_view name) const;

 private:
  [[nodiscard]] const base::JsonMember* find(std::string_view name) const;

  std::vector<base::JsonMember> members_;
};

// Throws InvalidArgument, with a suggestion, for a query parameter that is not in `known`.
void check_query(const http::Request& request, std::initializer_list<std::string_view> known);
[[nodiscard]] int query_number(const http::Request& request, std::string_view name, int usual, int most);
[[nodiscard]] bool query_flag(const http::Request& request, std::string_view name, bool usual);

// The caller, for the audit: "api (billing)".
[[nodiscard]] std::string actor_of(const http::Principal& principal);

// The execution that the path names. Throws NotFound for text that is no ID, as no execution can have it.
[[nodiscard]] Uuid path_id(const http::Call& call, std::string_view name = "id");

// The queue that the path names, in the caller's namespace.
[[nodiscard]] model::QueueRef path_queue(const http::Call& call);

}  // namespace hapax::api
