// Guards on the store interface: a calling process's session, its requests and their answers.
#pragma once

#include "conformance/fixture.hpp"
#include "model/identity.hpp"

namespace hapax::conformance {

class GuardConformance : public Conformance {
 protected:
  // A process that makes guarded calls.
  struct Caller {
    Uuid session;
    std::int64_t last_claim = 0;
    Duration lease = 30s;
    std::string label;
  };

  Caller caller(const std::string& label = "caller", Duration lease = 30s) {
    Caller made{.session = base::new_uuid7(), .lease = lease, .label = label};
    open(made);
    return made;
  }
  void open(const Caller& caller) {
    NewSession session;
    session.id = caller.session;
    session.worker = caller.label;
    session.lease = caller.lease;
    store().open_session(session);
  }

  [[nodiscard]] static base::Digest identity(const std::string& key) {
    return model::guard_identity_hash("default", "charge", key);
  }

  [[nodiscard]] static NewExecution call(Caller& caller, const std::string& key,
                                         std::optional<Duration> takeover_after = 30s) {
    NewExecution item;
    item.id = base::new_uuid7();
    item.queue = {"default", std::string(guard_queue)};
    item.task = "charge";
    item.kind = Kind::guard;
    item.attempt_timeout = takeover_after;
    item.identity = IdentityClaim{.hash = identity(key), .key = key, .reuse = Reuse::reject, .dedup_window = 0s};
    item.born_running = BornRunning{.session = caller.session, .claim_number = ++caller.last_claim};
    return item;
  }

  // Expects that the caller is told to run the function.
  Admission begin(Caller& caller, const std::string& key, std::optional<Duration> takeover_after = 30s) {
    const Admission admission = admit(call(caller, key, takeover_after));
    EXPECT_TRUE(admission.created() || admission.verdict == AdmissionVerdict::taken_over);
    EXPECT_EQ(admission.status, Status::running);
    EXPECT_TRUE(admission.fence.has_value());
    return admission;
  }

  [[nodiscard]] static Finish outcome(const Admission& admission, FinishKind kind, Keep keep = {}) {
    Finish finish;
    finish.id = admission.id;
    finish.fence = admission.fence.value_or(0);
    finish.kind = kind;
    if (kind == FinishKind::completed) { finish.result = "\"paid\""; }
    if (kind == FinishKind::failed) {
      finish.error = ErrorInfo{.type = "Declined", .message = "no funds", .detail = ""};
    }
    finish.keep = keep;
    return finish;
  }

  BeatReply beat(const Caller& caller, const std::vector<Held>& held, std::int64_t settled = 0) {
    Beat beat;
    beat.session = caller.session;
    beat.lease = caller.lease;
    beat.settled_claim_number = settled;
    beat.held = held;
    return store().beat(beat);
  }
};

}  // namespace hapax::conformance
