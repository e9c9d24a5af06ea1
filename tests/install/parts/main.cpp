// Works on SQLite, and gets an error that names each part that its hapax was built without.
#include <hapax/hapax.hpp>

#include <hapax/guard_store.hpp>

#include <iostream>

const hapax::Task<int, int> square{"square"};

template <class Call>
bool refused(const char* option, const Call& call) {
  try {
    call();
  } catch (const hapax::Unsupported& error) {
    if (std::string(error.what()).find(option) != std::string::npos) { return true; }
    std::cerr << "expected " << option << " in: " << error.what() << "\n";
    return false;
  } catch (const std::exception& error) {
    std::cerr << "expected Unsupported, got: " << error.what() << "\n";
    return false;
  }
  std::cerr << "expected Unsupported with " << option << "\n";
  return false;
}

int main() {
  auto app = hapax::open("sqlite:parts.db");
  app.handle(square, [](int number) { return number * number; });
  auto worker = app.work();
  if (app.enqueue(square, 7).result() != 49) { return 1; }
  const bool postgres = refused("HAPAX_WITH_POSTGRES", [] { (void)hapax::open("postgresql://127.0.0.1/none"); });
  const bool redis = refused("HAPAX_WITH_REDIS", [] { (void)hapax::open_guard_store("redis://127.0.0.1:1/0"); });
  return postgres && redis ? 0 : 1;
}
