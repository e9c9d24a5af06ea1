// Adds an item's place in a batch to the error about the item.
#pragma once

#include <hapax/error.hpp>

#include <string>

namespace hapax::model {

namespace detail {

struct PlacedError : InvalidArgument {
  PlacedError(const std::string& name, const std::string& field, const std::string& message)
      : InvalidArgument(name, field, message) {}
};

// Copies the error, so that members of the derived type (such as a byte offset) stay; replaces field and message.
template <class Type>
void throw_placed_as(const std::string& place, const InvalidArgument& error) {
  const auto* const original = dynamic_cast<const Type*>(&error);
  if (original == nullptr) { return; }
  Type placed = *original;
  static_cast<InvalidArgument&>(placed) = PlacedError(error.name(), place, error.what());
  throw placed;
}

}  // namespace detail

// Throws an error of the same type and name, whose field is `place` ("items[3]") and whose message begins with it.
[[noreturn]] inline void throw_placed(const std::string& place, const InvalidArgument& error) {
  detail::throw_placed_as<InvalidJson>(place, error);
  detail::throw_placed_as<PayloadTooLarge>(place, error);
  detail::throw_placed_as<InvalidIdempotencyKey>(place, error);
  detail::throw_placed_as<IdempotencyKeyRequired>(place, error);
  throw detail::PlacedError(error.name(), place, error.what());
}

}  // namespace hapax::model
