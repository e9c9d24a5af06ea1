#include "base/plain_path.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <unistd.h>

namespace hapax::base {

namespace {

[[noreturn]] void refuse_path(std::string_view name) {
  std::fprintf(stderr, "HAPAX_PLAIN_PATHS: %.*s is no fast path; expected all", static_cast<int>(name.size()),
               name.data());
  for (const std::string_view known : fast_paths) {
    std::fprintf(stderr, ", %.*s", static_cast<int>(known.size()), known.data());
  }
  std::fputs("\n", stderr);
  _exit(78);
}

std::vector<std::string_view> read_plain_paths() {
  const char* const text = std::getenv("HAPAX_PLAIN_PATHS");
  if (text == nullptr) { return {}; }
  if (text == std::string_view("all")) { return {fast_paths.begin(), fast_paths.end()}; }
  std::vector<std::string_view> names;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(','));
    if (std::ranges::find(fast_paths, name) == fast_paths.end()) { refuse_path(name); }
    names.push_back(name);
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
  return names;
}

}  // namespace

bool takes_plain_path(std::string_view fast_path) {
  static const std::vector<std::string_view> plain = read_plain_paths();
  return std::ranges::find(plain, fast_path) != plain.end();
}

}  // namespace hapax::base
