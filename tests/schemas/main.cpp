// schema_judge activity|event: reads one JSON document per line and writes a line for each: "good" and its canonical
// form, or "bad" and the error.
#include <hapax/error.hpp>

#include "schedule/activity.hpp"
#include "schedule/event.hpp"

#include <iostream>
#include <string>

namespace {

std::string judged(const std::string& document, bool is_activity) {
  using namespace hapax::schedule;
  try {
    return "good " + (is_activity ? encode_activity(parse_activity(document)) : encode_event(parse_event(document)));
  } catch (const hapax::InvalidArgument& error) { return std::string("bad ") + error.what(); }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string kind = count == 2 ? arguments[1] : "";
  if (kind != "activity" && kind != "event") {
    std::cerr << "usage: schema_judge activity|event\n";
    return 2;
  }
  for (std::string line; std::getline(std::cin, line);) { std::cout << judged(line, kind == "activity") << "\n"; }
}
