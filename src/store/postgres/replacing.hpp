// Debounce and keep_last: a pending holder gets the latest request's fields.
#pragma once

#include "store/postgres/admission.hpp"

#include <vector>

namespace hapax::store::postgres {

struct Replacing {
  Uuid id;                                  // the holder, whose rows this transaction has locked
  const model::NewExecution* by = nullptr;  // everything except its id, identity and effect key replaces the holder's
};

// 1 round trip. The holders are pending and have never started.
void replace(const AdmissionWork& work, const std::vector<Replacing>& replacing);

}  // namespace hapax::store::postgres
