// expect: the result type has no conversion to and from JSON: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE
#include <hapax/hapax.hpp>

struct Payment {
  std::string id;
};
#ifdef MENDED
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Payment, id)
#endif

const hapax::Task<int, Payment> charge{"charge"};
