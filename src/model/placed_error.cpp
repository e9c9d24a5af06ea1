#include "model/placed_error.hpp"

namespace hapax::model {

namespace {

struct Named : InvalidArgument {
  Named(const std::string& name, const std::string& field, const std::string& message)
      : InvalidArgument(name, field, message) {}
};

// Copies the error, so that members of the derived type (such as a byte offset) stay; replaces field and message.
template <class Type>
void throw_as(const std::string& place, const InvalidArgument& error) {
  const auto* const original = dynamic_cast<const Type*>(&error);
  if (original == nullptr) { return; }
  Type placed = *original;
  static_cast<InvalidArgument&>(placed) = Named(error.name(), place, error.what());
  throw placed;
}

}  // namespace

void throw_placed(const std::string& place, const InvalidArgument& error) {
  throw_as<InvalidJson>(place, error);
  throw_as<PayloadTooLarge>(place, error);
  throw_as<InvalidIdempotencyKey>(place, error);
  throw_as<IdempotencyKeyRequired>(place, error);
  throw Named(error.name(), place, error.what());
}

}  // namespace hapax::model
