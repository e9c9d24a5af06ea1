// Any text is either an activity or refused by name; the canonical form of an accepted one reads back to itself.
#include <hapax/error.hpp>

#include "schedule/activity.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace hapax::schedule;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  std::string encoded;
  try {
    encoded = encode_activity(parse_activity(text));
  } catch (const hapax::InvalidArgument&) { return 0; }
  if (encode_activity(parse_activity(encoded)) != encoded) { std::abort(); }
  return 0;
}
