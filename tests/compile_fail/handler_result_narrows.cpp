// expect: the handler's number may lose its fraction, sign or upper digits
#include <hapax/hapax.hpp>

const hapax::Task<int, int> measure{"measure"};

void handle(hapax::App& app) {
#ifdef MENDED
  app.handle(measure, [](int) { return static_cast<int>(3.7); });
#else
  app.handle(measure, [](int) { return 3.7; });
#endif
}
