// expect: the input type has no conversion to and from JSON: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE
#include <hapax/hapax.hpp>

struct Order {
  std::string id;
};
#ifdef MENDED
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id)
#endif

const hapax::Task<Order, int> charge{"charge"};
