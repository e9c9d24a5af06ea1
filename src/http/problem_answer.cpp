#include "http/problem_answer.hpp"

#include "http/http_error.hpp"
#include "http/problem_json.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <typeinfo>

namespace hapax::http {

namespace {

// The exception's type, and its text unless the text may quote the client's input.
std::string defect_of(const std::exception& error) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status), std::free);
  const std::string type = demangled ? demangled.get() : typeid(error).name();
  return type.find("nlohmann") == std::string::npos ? type + ": " + error.what() : type;
}

ProblemAnswer answer_to(const std::exception& error, bool asked_by_operator) {
  ProblemAnswer answer;
  http::Problem problem = http::problem_of(error);
  answer.name = problem.name;
  const auto* const http = dynamic_cast<const HttpError*>(&error);
  if (http != nullptr) { problem.http_status = http->status(); }
  // Files, processes and servers behind the store are shown to operators only.
  if (problem.http_status == 503 && http == nullptr && !asked_by_operator) {
    problem.message = "the store cannot be used now; try again";
  }
  if (problem.name == "InternalError") {
    answer.defect = defect_of(error);
    problem.message = "the server has a defect here; its log says more";
  }
  Response& response = answer.response;
  response.status = problem.http_status;
  response.content_type = "application/problem+json";
  response.body = http::problem_json(problem);
  if (http != nullptr) {
    response.headers = http->headers();
    answer.closes = http->closes();
  } else if (response.status == 503) {
    response.headers.emplace_back("Retry-After", "1");
  }
  return answer;
}

}  // namespace

ProblemAnswer problem_answer(const std::exception_ptr& error, bool asked_by_operator) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) { return answer_to(known, asked_by_operator); } catch (...) {
    return answer_to(std::runtime_error("something that is not a std::exception was thrown"), asked_by_operator);
  }
}

}  // namespace hapax::http
