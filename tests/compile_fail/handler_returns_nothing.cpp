// expect: the handler returns nothing, but its task or workflow was declared with a result type
#include <hapax/hapax.hpp>

#ifdef MENDED
const hapax::Task<int> charge{"charge"};
#else
const hapax::Task<int, int> charge{"charge"};
#endif

void handle(hapax::App& app) {
  app.handle(charge, [](int) {});
}
