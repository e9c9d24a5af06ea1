#include "property/operation.hpp"

#include <array>
#include <limits>

namespace hapax::property {

namespace {

constexpr std::array<const char*, 17> names = {
    "admit",  "claim", "finish",  "exchange", "open_session", "beat",  "close_session", "advance", "sweep",
    "cancel", "retry", "discard", "annotate", "configure",    "purge", "move",          "journal"};

rc::Gen<Operation> of(Act act) {
  const auto number = rc::gen::inRange<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max());
  // Not scaled by size: a short sequence should vary as much as a long one.
  return rc::gen::map(rc::gen::resize(100, number), [act](std::uint64_t drawn) { return Operation{act, drawn}; });
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Operation& operation) {
  return out << names.at(static_cast<std::size_t>(operation.act)) << "(" << operation.number << ")";
}

rc::Gen<std::vector<Operation>> operations() {
  const auto any = rc::gen::weightedOneOf<Operation>({{16, of(Act::admit)},
                                                      {16, of(Act::claim)},
                                                      {14, of(Act::finish)},
                                                      {6, of(Act::exchange)},
                                                      {4, of(Act::open_session)},
                                                      {6, of(Act::beat)},
                                                      {2, of(Act::close_session)},
                                                      {10, of(Act::advance)},
                                                      {8, of(Act::sweep)},
                                                      {5, of(Act::cancel)},
                                                      {5, of(Act::retry)},
                                                      {2, of(Act::discard)},
                                                      {1, of(Act::annotate)},
                                                      {4, of(Act::configure)},
                                                      {1, of(Act::purge)},
                                                      {2, of(Act::move)},
                                                      {3, of(Act::journal)}});
  return rc::gen::container<std::vector<Operation>>(any);
}

}  // namespace hapax::property
