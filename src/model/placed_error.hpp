// Adds an item's place in a batch to the error about the item.
#pragma once

#include <hapax/error.hpp>

#include <string>

namespace hapax::model {

// Throws an error of the same type and name, whose field is `place` ("items[3]") and whose message begins with it.
[[noreturn]] void throw_placed(const std::string& place, const InvalidArgument& error);

}  // namespace hapax::model
