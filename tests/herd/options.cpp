#include "herd/options.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>

namespace hapax::herd {
namespace {

constexpr const char* usage =
    "herd thundering --store sqlite|postgres [--requests N] [--processes P]\n"
    "herd starts     --store sqlite|postgres [--processes P]\n"
    "herd history    --store sqlite|postgres [--keys N] [--processes P]\n"
    "herd limits     --store sqlite|postgres [--seconds N]\n"
    "herd deploy     --store sqlite|postgres\n"
    "herd tickers    --store sqlite|postgres [--processes P]\n"
    "herd events     --store sqlite|postgres [--processes P]\n"
    "herd all        --store sqlite|postgres\n"
    "each also with [--seed S] [--keep], or with --slice\n"
    "\n"
    "Many processes ask for the same at the same instant, and are killed and stopped; what the stores promise of\n"
    "identities and limits is checked from what each of them saw.\n"
    "PostgreSQL: HAPAX_TEST_POSTGRES_URL, _FOLDER and _CONTROL name a cluster whose connections may be cut.\n";

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "herd: %s\n%s", what.c_str(), usage);
  std::exit(64);
}

std::uint64_t number(std::string_view name, std::string_view text, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty() || value > most) {
    refuse(std::string(name) + " needs a number, got '" + std::string(text) + "'");
  }
  return value;
}

int small_number(std::string_view name, std::string_view text) {
  const auto value = static_cast<int>(number(name, text, 1'000'000));
  if (value < 1) refuse(std::string(name) + " is out of range: " + std::string(text));
  return value;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  if (argc < 2) refuse("nothing to do");
  options.mode = argv[1];
  if (!std::set<std::string>{"thundering", "starts", "history", "limits", "deploy", "tickers", "events", "all"}
           .contains(options.mode)) {
    refuse("unknown mode " + options.mode);
  }
  for (int index = 2; index < argc; ++index) {
    const std::string_view name = argv[index];
    if (name == "--keep") {
      options.keep = true;
      continue;
    }
    if (name == "--slice") {
      options.slice = true;
      continue;
    }
    if (index + 1 >= argc) refuse(std::string(name) + " is unknown or needs a value");
    const std::string_view value = argv[++index];
    if (name == "--store") {
      options.store = value;
    } else if (name == "--seed") {
      options.seed = number(name, value, ~std::uint64_t{0});
    } else if (name == "--processes") {
      options.processes = small_number(name, value);
    } else if (name == "--requests") {
      options.requests = small_number(name, value);
    } else if (name == "--keys") {
      options.keys = small_number(name, value);
    } else if (name == "--seconds") {
      options.seconds = small_number(name, value);
    } else {
      refuse("unknown option " + std::string(name));
    }
  }
  if (options.store != "sqlite" && options.store != "postgres") refuse("--store is sqlite or postgres");
  if (options.slice) {
    options.seed = 20260301;
    options.requests = 50;
    options.keys = 2000;
    options.seconds = 4;
  }
  if (options.seed == 0) {
    options.seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  }
  return options;
}

}  // namespace hapax::herd
