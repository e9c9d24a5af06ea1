// docs_examples PLACE: runs one example of a page. Without arguments it lists all places.
#include "docs/examples.hpp"

#include <cstdlib>
#include <map>

namespace docs {

namespace {

std::map<std::string, void (*)()>& examples() {
  static std::map<std::string, void (*)()> all;
  return all;
}

}  // namespace

Registration::Registration(const char* place, void (*run)()) { examples().emplace(place, run); }

hapax::App open() {
  const char* const url = std::getenv("HAPAX_DOCS_STORE");
  return hapax::open(url == nullptr ? "sqlite:example.db" : url);
}

}  // namespace docs

int main(int count, char** arguments) {
  if (count == 1) {
    for (const auto& [place, run] : docs::examples()) { std::cout << place << "\n"; }
    return EXIT_SUCCESS;
  }
  const std::string place = arguments[1];
  const auto found = docs::examples().find(place);
  if (found == docs::examples().end()) {
    std::cerr << place << ": no such example is compiled in\n";
    return EXIT_FAILURE;
  }
  try {
    found->second();
  } catch (const hapax::Error& error) {
    std::cerr << place << ": threw " << error.name() << ": " << error.what() << "\n";
    return EXIT_FAILURE;
  } catch (const std::exception& error) {
    std::cerr << place << ": threw " << error.what() << "\n";
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
