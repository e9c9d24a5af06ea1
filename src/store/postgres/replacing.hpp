// Debounce and keep_last: a pending holder gets what the latest request has.
#pragma once

#include "store/postgres/admission.hpp"

#include <vector>

namespace hapax::store::postgres {

struct Replacing {
  Uuid id;                                  // of the holder, whose rows this transaction has locked
  const model::NewExecution* by = nullptr;  // all of it but its id, identity and effect key
};

// 1 round trip. The holders are pending, and have never started.
void replace(const AdmissionWork& work, const std::vector<Replacing>& replacing);

}  // namespace hapax::store::postgres
