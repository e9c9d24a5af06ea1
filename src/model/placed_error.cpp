#include "model/placed_error.hpp"

namespace hapax::model {

namespace {

struct Named : InvalidArgument {
  Named(const std::string& name, const std::string& field, const std::string& message)
      : InvalidArgument(name, field, message) {}
};

// Keeps what the type has of its own, such as a byte offset; field and message are the base's.
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
