// The error of a guarded function, as its record keeps it.
#pragma once

#include <hapax/guard_store.hpp>

#include <exception>

namespace hapax::guard {

// Takes any exception: a hapax::Error gives its name, a std::exception its type, any other the type if it is known.
// Texts are made valid UTF-8 and cut to their limits.
[[nodiscard]] GuardError describe(const std::exception_ptr& error);

}  // namespace hapax::guard
