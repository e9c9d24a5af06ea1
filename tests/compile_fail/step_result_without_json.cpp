// expect: this type has no conversion to JSON: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE
#include <hapax/hapax.hpp>

struct Label {
  std::string text;
};
#ifdef MENDED
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Label, text)
#endif

std::string print(hapax::WorkflowContext& ctx) {
  return ctx.step("print", [] { return Label{"fragile"}; }).text;
}
