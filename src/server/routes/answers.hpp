// What routes read and answer with: JSON bodies, query parameters, problems.
#pragma once

#include <hapax/error.hpp>
#include <hapax/time.hpp>

#include "model/execution.hpp"
#include "server/call.hpp"
#include "wire/json_members.hpp"
#include "wire/problem.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::server {

[[nodiscard]] Response json_answer(std::string body, int status = 200);
[[nodiscard]] Response problem_answer_of(const wire::Problem& problem);

// The members of a request's JSON object, by name. Unknown ones are errors with a suggestion; null counts as not given.
// Every reader throws InvalidArgument that names the member. Points into the text.
class Members {
 public:
  // An empty text reads as {}. Throws InvalidJson with the byte offset. `around`: as check_json says.
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
  // The items of an array; empty when it is not given.
  [[nodiscard]] std::vector<std::string_view> items(std::string_view name) const;

 private:
  [[nodiscard]] const wire::JsonMember* find(std::string_view name) const;

  std::vector<wire::JsonMember> members_;
};

// Query parameters that are none of these are errors with a suggestion.
void check_query(const Request& request, std::initializer_list<std::string_view> known);
[[nodiscard]] int query_number(const Request& request, std::string_view name, int usual, int most);
[[nodiscard]] bool query_flag(const Request& request, std::string_view name, bool usual);

// Who acts, for the audit: "api (billing)".
[[nodiscard]] std::string actor_of(const Principal& principal);

// The execution that the path names. Throws NotFound for what is no id: nothing has that name.
[[nodiscard]] Uuid path_id(const Call& call, std::string_view name = "id");

// The queue that the path names, in the caller's namespace.
[[nodiscard]] model::QueueRef path_queue(const Call& call);

}  // namespace hapax::server
