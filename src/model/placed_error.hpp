// What is wrong with one of many, told with its place.
#pragma once

#include <hapax/error.hpp>

#include <string>

namespace hapax::model {

// Throws an error of the same type and name, whose field is `place` ("items[3]") and whose message begins with it.
[[noreturn]] void throw_placed(const std::string& place, const InvalidArgument& error);

}  // namespace hapax::model
