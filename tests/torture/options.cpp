#include "torture/options.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace hapax::torture {
namespace {

constexpr const char* usage =
    "torture --store sqlite|postgres [--kills N] [--seed S] [--seconds MAX] [--workers W] [--producers P]\n"
    "        [--raw] [--keep]\n"
    "torture --store sqlite|postgres --programs N [--kills N] [--seed S] [--seconds MAX] [--workers W] [--keep]\n"
    "torture --store sqlite|postgres [--programs N] --slice\n"
    "\n"
    "Kills processes (and PostgreSQL servers) under load, lets everything end, and checks what the stores promise.\n"
    "With --programs the load are generated workflows, and an oracle says what they must have done.\n"
    "PostgreSQL: HAPAX_TEST_POSTGRES_URL, _FOLDER and _CONTROL name a cluster that may be stopped (./dev torture).\n";

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "torture: %s\n%s", what.c_str(), usage);
  std::exit(64);
}

template <class Number>
Number number(std::string_view name, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
    refuse(std::string(name) + " needs a number, got '" + std::string(text) + "'");
  }
  return value;
}

int at_least(std::string_view name, std::string_view text, int least) {
  const int value = number<int>(name, text);
  if (value < least || value > 1'000'000) refuse(std::string(name) + " is out of range: " + std::string(text));
  return value;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  for (int index = 1; index < argc; ++index) {
    const std::string_view name = argv[index];
    if (name == "--slice") {
      options.slice = true;
      continue;
    }
    if (name == "--raw") {
      options.raw = true;
      continue;
    }
    if (name == "--keep") {
      options.keep = true;
      continue;
    }
    if (index + 1 >= argc) refuse(std::string(name) + " is unknown or needs a value");
    const std::string_view value = argv[++index];
    if (name == "--store") {
      options.store = value;
    } else if (name == "--kills") {
      options.kills = at_least(name, value, 0);
    } else if (name == "--seed") {
      options.seed = number<std::uint64_t>(name, value);
    } else if (name == "--seconds") {
      options.seconds = at_least(name, value, 1);
    } else if (name == "--workers") {
      options.workers = at_least(name, value, 2);
    } else if (name == "--producers") {
      options.producers = at_least(name, value, 1);
    } else if (name == "--programs") {
      options.programs = at_least(name, value, 1);
    } else if (name == "--role") {
      options.role = value;
    } else if (name == "--url") {
      options.url = value;
    } else if (name == "--folder") {
      options.folder = value;
    } else if (name == "--number") {
      options.number = at_least(name, value, 0);
    } else if (name == "--lease-ms") {
      options.lease = std::chrono::milliseconds(at_least(name, value, 100));
    } else if (name == "--queue") {
      options.queues.emplace_back(value);
    } else {
      refuse("unknown option " + std::string(name));
    }
  }
  if (options.store != "sqlite" && options.store != "postgres") refuse("--store is sqlite or postgres");
  if (options.slice) {
    options.kills = options.programs > 0 ? 8 : 25;
    options.seed = 20260301;
    options.seconds = 60;
  }
  if (options.seed == 0) {
    options.seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  }
  if (options.seconds == 0) options.seconds = 60 + 2 * options.kills;
  return options;
}

}  // namespace hapax::torture
