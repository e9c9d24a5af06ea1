#include "http/call.hpp"

namespace hapax::http {

const std::string& Call::parameter(std::string_view name) const {
  for (const auto& [each, value] : parameters_) {
    if (each == name) { return *value; }
  }
  throw UsageError("the route has no parameter {" + std::string(name) + "}");
}

}  // namespace hapax::http
