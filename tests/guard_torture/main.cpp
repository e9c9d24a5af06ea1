// guard_torture: processes that call guarded functions are killed and stopped at any moment.
//
//   guard_torture [--store URL] [--kills N] [--zombies N] [--processes N] [--seed N]
//
// --store is a URL of open_guard_store; the default is a file: store in a new folder. After each scene:
// - no key is stuck: every key that was ever begun is answered within takeover_after + 1 s of the last kill;
// - nothing was accepted twice: all answers for a key, and its record, have the same value;
// - a process that was stopped inside a call for longer than takeover_after had its result refused.
// Prints the events and the seed; exits with 1 and the findings if a rule is broken.
#include "guard_torture/caller.hpp"
#include "guard_torture/controller.hpp"

#include <hapax/error.hpp>

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace {

using hapax::guard_torture::Options;

long number_of(const std::string& option, const char* text) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < 0) { throw std::invalid_argument(option + " needs a number"); }
  return value;
}

Options read_options(int count, char** arguments) {
  Options options;
  options.seed = std::random_device{}();
  for (int index = 1; index < count; index += 2) {
    const std::string option = arguments[index];
    if (index + 1 >= count) { throw std::invalid_argument(option + " needs a value"); }
    const char* const value = arguments[index + 1];
    if (option == "--store") {
      options.store = value;
    } else if (option == "--kills") {
      options.kills = static_cast<int>(number_of(option, value));
    } else if (option == "--zombies") {
      options.zombies = static_cast<int>(number_of(option, value));
    } else if (option == "--processes") {
      options.processes = static_cast<int>(number_of(option, value));
    } else if (option == "--seed") {
      options.seed = static_cast<std::uint64_t>(number_of(option, value));
    } else if (option == "--role") {
      options.role = value;
    } else if (option == "--log") {
      options.log = value;
    } else {
      throw std::invalid_argument("unknown option " + option);
    }
  }
  return options;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const Options options = read_options(count, arguments);
    if (options.role == "caller") { return hapax::guard_torture::call_until_killed(options); }
    if (options.role == "sleeper") { return hapax::guard_torture::call_once_slowly(options); }
    return hapax::guard_torture::torture(options, arguments[0]);
  } catch (const std::invalid_argument& error) {
    std::cerr << error.what() << "\n";
    return 64;
  } catch (const std::exception& error) {
    std::cerr << "guard_torture: " << error.what() << "\n";
    return 1;
  }
}
