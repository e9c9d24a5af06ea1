// From an exception to what the user sees: a line on standard error or a problem object, and an exit code.
#pragma once

#include <hapax/error.hpp>

#include "wire/problem.hpp"

#include <exception>
#include <string>

namespace hapax::cli {

// What the API answers and the command line prints is the same.
using namespace hapax::wire;

// A command used wrongly: unknown flags, flags that exclude each other, an argument that is missing. Exit 64.
class BadUsage : public Error {
 public:
  explicit BadUsage(const std::string& message) : Error("UsageError", message) {}
};

// Data that cannot be taken, whatever its own error was: exit 65. Keeps the cause's name, and the field if it names one.
class BadData : public Error {
 public:
  BadData(std::string_view name, const std::string& message, std::string field = {})
      : Error(name, message), field_(std::move(field)) {}
  [[nodiscard]] const std::string& field() const { return field_; }

 private:
  std::string field_;
};

// A file named on the command line cannot be read. Exit 66.
class MissingFile : public Error {
 public:
  explicit MissingFile(const std::string& message) : Error("MissingFile", message) {}
};

// Throws MissingFile unless the file that `option` names is there. An empty path names none.
void require_file(const std::string& path, std::string_view option);

// Reports `error` as the contract says and returns the exit code.
int report(const std::exception& error, bool as_json);

}  // namespace hapax::cli
