// What a guarded function threw, as its record keeps it.
#pragma once

#include <hapax/guard_store.hpp>

#include <exception>

namespace hapax::guard {

// Anything can be described: a hapax::Error by its name, a std::exception by its type, the rest by what is known. Texts are
// made storable and cut to their limits.
[[nodiscard]] GuardError describe(const std::exception_ptr& error);

}  // namespace hapax::guard
