#include "store/write_probe.hpp"

#include "base/limits.hpp"
#include "base/uuid7.hpp"

namespace hapax::store {

void check_writable(Store& store) {
  NewSession session;
  session.id = base::new_uuid7();
  session.worker = "hapax.probe";
  session.lease = limits::lease_min;
  store.open_session(session);
  store.close_session(session.id);
}

}  // namespace hapax::store
