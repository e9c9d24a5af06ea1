// Any text is either an event, whole or as the body of one, or refused by name; an accepted one reads back to itself
// and matches a trigger made from its own source and members.
#include <hapax/error.hpp>

#include "base/json.hpp"
#include "schedule/subscriptions.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace hapax::schedule;

void require(bool holds) {
  if (!holds) { std::abort(); }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  try {
    (void)parse_binary_event({.headers = {{"ce-specversion", "1.0"},
                                          {"ce-source", std::string(text.substr(0, 40))},
                                          {"ce-type", "t"},
                                          {"content-type", std::string(text.substr(size / 2, 20))}},
                              .body = text});
  } catch (const hapax::InvalidArgument&) {}
  Event event;
  try {
    event = parse_event(text);
  } catch (const hapax::InvalidArgument&) { return 0; }
  const std::string encoded = encode_event(event);
  require(encode_event(parse_event(encoded)) == encoded);

  EventTrigger trigger{.types = {"*"}, .source = event.source, .filter = {}};
  for (const char* const pointer : {"/data", "/data/a", "/data/0", "/subject", "/type", "/tenant"}) {
    Condition condition{.pointer = pointer, .test = Condition::Test::absent, .values = {}};
    if (const auto value = value_at(event, pointer)) {
      condition.test = Condition::Test::any_of;
      condition.values = {hapax::base::canonical_json(*value)};
    }
    trigger.filter.push_back(condition);
  }
  require(Subscriptions({&trigger}).matching(event).size() == 1);
  return 0;
}
