// expect: the handler's number may lose its fraction, sign or upper digits
#include <hapax/hapax.hpp>

#ifdef MENDED
const hapax::Workflow<int, double> measure{"measure"};
#else
const hapax::Workflow<int, int> measure{"measure"};
#endif

void handle(hapax::App& app) {
  app.handle(measure, [](hapax::WorkflowContext&, int) { return 3.7; });
}
