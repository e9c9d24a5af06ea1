// Turns an exception into the user's error (a line on standard error or a problem object) and an exit code.
#pragma once

#include <hapax/error.hpp>

#include "base/json_out.hpp"
#include "base/json_view.hpp"
#include "http/problem_json.hpp"

#include <exception>
#include <string>

namespace hapax::api {}

namespace hapax::cli {

// The command line prints the API's documents, so it uses the names of hapax::api and its JSON classes unqualified.
using namespace hapax::api;
using base::array_items;
using base::BadAnswer;
using base::check_answer;
using base::json_array;
using base::json_text;
using base::json_text_array;
using base::JsonObject;
using base::JsonView;
using http::Problem;
using http::problem_json;
using http::problem_of;

// A command was used wrongly: an unknown flag, flags that exclude each other, a missing argument. Exit 64.
class BadUsage : public Error {
 public:
  explicit BadUsage(const std::string& message) : Error("UsageError", message) {}
};

// Invalid data, whatever error its check threw: exit 65. Keeps the cause's name, and the field if the cause names one.
class BadData : public Error {
 public:
  BadData(std::string_view name, const std::string& message, std::string field = {})
      : Error(name, message), field_(std::move(field)) {}
  [[nodiscard]] const std::string& field() const { return field_; }

 private:
  std::string field_;
};

// A file named on the command line cannot be read or written. Exit 66.
class MissingFile : public Error {
 public:
  explicit MissingFile(const std::string& message) : Error("MissingFile", message) {}
};

// Throws MissingFile unless the file that `option` names exists. An empty path names no file.
void require_file(const std::string& path, std::string_view option);

// Prints `error` as docs/reference/cli.md says and returns the exit code.
int report(const std::exception& error, bool as_json);

}  // namespace hapax::cli
