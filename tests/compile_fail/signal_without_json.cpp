// expect: this type has no conversion to JSON: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE
#include <hapax/hapax.hpp>

struct Approval {
  bool granted = false;
};
#ifdef MENDED
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Approval, granted)
#endif

void approve(const hapax::WorkflowHandle<int>& handle) { handle.signal("approval", Approval{true}); }
