#include "model/admission.hpp"

#include <gtest/gtest.h>

#include <array>

namespace hapax::model {
namespace {

using namespace std::chrono_literals;

constexpr std::array all_statuses = {Status::pending, Status::running,   Status::completed,
                                     Status::failed,  Status::cancelled, Status::timed_out};
constexpr std::array all_reuses = {Reuse::failed_only, Reuse::reject, Reuse::allow};
constexpr std::array all_conflicts = {OnConflict::return_existing, OnConflict::reject, OnConflict::wait,
                                      OnConflict::terminate_existing};

base::Digest digest_of(std::uint8_t byte) {
  base::Digest digest{};
  digest[0] = byte;
  return digest;
}

Holder holder_that_is(Status status) {
  Holder holder;
  holder.id.bytes[0] = 9;
  holder.status = status;
  holder.run = 3;
  holder.created_at = Time(100s);
  holder.fingerprint = digest_of(1);
  if (is_terminal(status)) { holder.finished_at = Time(200s); }
  if (status == Status::completed) { holder.result = R"({"paid":true})"; }
  return holder;
}

IdentityClaim request_with(Reuse reuse, OnConflict conflict, std::optional<std::uint8_t> fingerprint = 1) {
  IdentityClaim request;
  request.reuse = reuse;
  request.on_conflict = conflict;
  if (fingerprint) { request.fingerprint = digest_of(*fingerprint); }
  return request;
}

// One letter for each status, in the order of all_statuses: D deduplicated, E already_exists, C already_completed, F
// already_finished, N a new run, T a new run that terminates the holder, M mismatch.
char letter_of(const AdmissionDecision& decision) {
  switch (decision.step) {
    case AdmissionStep::new_run: return 'N';
    case AdmissionStep::terminate_and_new_run: return 'T';
    case AdmissionStep::replace: return 'R';
    case AdmissionStep::take_over: return 'O';
    case AdmissionStep::answer: break;
  }
  switch (decision.admission.verdict) {
    case AdmissionVerdict::deduplicated: return 'D';
    case AdmissionVerdict::already_exists: return 'E';
    case AdmissionVerdict::already_completed: return 'C';
    case AdmissionVerdict::already_finished: return 'F';
    case AdmissionVerdict::mismatch: return 'M';
    case AdmissionVerdict::created:
    case AdmissionVerdict::taken_over:
    case AdmissionVerdict::session_gone:
    case AdmissionVerdict::name_taken:
    case AdmissionVerdict::queue_draining: break;
  }
  return '?';
}

std::string row(Reuse reuse, OnConflict conflict, std::optional<std::uint8_t> fingerprint = 1) {
  std::string letters;
  for (const Status status : all_statuses) {
    letters.push_back(
        letter_of(decide_admission(holder_that_is(status), request_with(reuse, conflict, fingerprint), Time(300s))));
  }
  return letters;
}

TEST(Admission, FailedOnlyAnswersFromLiveAndCompletedHolders) {
  EXPECT_EQ(row(Reuse::failed_only, OnConflict::return_existing), "DDDNNN");
  EXPECT_EQ(row(Reuse::failed_only, OnConflict::wait), "DDDNNN");
  EXPECT_EQ(row(Reuse::failed_only, OnConflict::reject), "EECNNN");
  EXPECT_EQ(row(Reuse::failed_only, OnConflict::terminate_existing), "TTDNNN");
}

TEST(Admission, ReuseRejectNeverFollowsAHolderThatHasEnded) {
  EXPECT_EQ(row(Reuse::reject, OnConflict::return_existing), "DDDFFF");
  EXPECT_EQ(row(Reuse::reject, OnConflict::wait), "DDDFFF");
  EXPECT_EQ(row(Reuse::reject, OnConflict::reject), "EECFFF");
  EXPECT_EQ(row(Reuse::reject, OnConflict::terminate_existing), "TTDFFF");
}

TEST(Admission, ReuseAllowFollowsAnyEnding) {
  EXPECT_EQ(row(Reuse::allow, OnConflict::return_existing), "DDNNNN");
  EXPECT_EQ(row(Reuse::allow, OnConflict::wait), "DDNNNN");
  EXPECT_EQ(row(Reuse::allow, OnConflict::reject), "EENNNN");
  EXPECT_EQ(row(Reuse::allow, OnConflict::terminate_existing), "TTNNNN");
}

TEST(Admission, AnotherInputIsAMismatchWhereverTheHolderBlocksAndNowhereElse) {
  for (const Reuse reuse : all_reuses) {
    for (const OnConflict conflict : all_conflicts) {
      std::string expected = row(reuse, conflict);
      for (char& letter : expected) { letter = letter == 'N' || letter == 'T' ? letter : 'M'; }
      EXPECT_EQ(row(reuse, conflict, 2), expected);
    }
  }
}

TEST(Admission, AnAbsentFingerprintIsNeverCompared) {
  for (const Reuse reuse : all_reuses) {
    for (const OnConflict conflict : all_conflicts) {
      EXPECT_EQ(row(reuse, conflict, std::nullopt), row(reuse, conflict));
    }
  }
  Holder holder = holder_that_is(Status::running);
  holder.fingerprint.reset();
  const auto decision =
      decide_admission(holder, request_with(Reuse::failed_only, OnConflict::return_existing, 2), Time(300s));
  EXPECT_EQ(letter_of(decision), 'D');
}

TEST(Admission, AnAnswerCarriesTheHoldersFacts) {
  const Holder holder = holder_that_is(Status::completed);
  for (const OnConflict conflict : {OnConflict::return_existing, OnConflict::reject}) {
    const Admission answer = decide_admission(holder, request_with(Reuse::failed_only, conflict), Time(300s)).admission;
    EXPECT_FALSE(answer.created());
    EXPECT_EQ(answer.id, holder.id);
    EXPECT_EQ(answer.status, Status::completed);
    EXPECT_EQ(answer.run, 3);
    EXPECT_EQ(answer.deduplicated_from, Time(100s));
    EXPECT_EQ(answer.finished_at, Time(200s));
    EXPECT_EQ(answer.result, R"({"paid":true})");
    EXPECT_EQ(answer.fence, std::nullopt);
  }
}

TEST(Admission, ALiveHolderHasNeitherEndNorResult) {
  const Admission answer =
      decide_admission(holder_that_is(Status::running), request_with(Reuse::failed_only, OnConflict::wait), Time(300s))
          .admission;
  EXPECT_EQ(answer.status, Status::running);
  EXPECT_EQ(answer.finished_at, std::nullopt);
  EXPECT_EQ(answer.result, std::nullopt);
}

TEST(Admission, AMismatchDoesNotGiveTheResultAway) {
  const Admission answer = decide_admission(holder_that_is(Status::completed),
                                            request_with(Reuse::failed_only, OnConflict::wait, 2), Time(300s))
                               .admission;
  EXPECT_EQ(answer.verdict, AdmissionVerdict::mismatch);
  EXPECT_EQ(answer.id, holder_that_is(Status::completed).id);
  EXPECT_EQ(answer.result, std::nullopt);
}

TEST(Admission, AnAbandonedGuardIsTakenOverWhateverItsFingerprint) {
  Holder holder = holder_that_is(Status::running);
  holder.abandoned = true;
  for (const std::uint8_t fingerprint : {std::uint8_t{1}, std::uint8_t{2}}) {
    const AdmissionDecision decision =
        decide_admission(holder, request_with(Reuse::reject, OnConflict::return_existing, fingerprint), Time(300s));
    EXPECT_EQ(decision.step, AdmissionStep::take_over);
    EXPECT_EQ(decision.admission.verdict, AdmissionVerdict::taken_over);
    EXPECT_EQ(decision.admission.id, holder.id);
  }
}

TEST(AdmissionModes, TheLatestRequestReplacesAFreshHolderOvertakesARunningOneAndEndsAnyOther) {
  for (const IdentityMode mode : {IdentityMode::debounce, IdentityMode::keep_last}) {
    IdentityClaim request;
    request.mode = mode;
    Holder holder = holder_that_is(Status::pending);
    EXPECT_EQ(decide_admission(holder, request, Time(300s)).step, AdmissionStep::replace);
    for (const HolderPlace place : {HolderPlace::other_task, HolderPlace::other_key}) {
      holder.place = place;
      EXPECT_EQ(decide_admission(holder, request, Time(300s)).step, AdmissionStep::terminate_and_new_run);
    }
    holder.place = HolderPlace::same;
    holder.fence = 1;
    EXPECT_EQ(decide_admission(holder, request, Time(300s)).step, AdmissionStep::terminate_and_new_run);
    for (const Status status : {Status::running, Status::completed, Status::failed}) {
      const AdmissionDecision decision = decide_admission(holder_that_is(status), request, Time(300s));
      EXPECT_EQ(decision.step, AdmissionStep::new_run);
      EXPECT_EQ(decision.overtakes, status == Status::running);
    }
  }
  IdentityClaim throttled;
  throttled.mode = IdentityMode::throttle;
  throttled.throttle = 1s;
  EXPECT_FALSE(decide_admission(holder_that_is(Status::running), throttled, Time(300s)).overtakes);
}

TEST(AdmissionModes, KeepLastRefusesWhatItCouldNotPutBehindItsHolder) {
  IdentityClaim request;
  request.mode = IdentityMode::keep_last;
  const auto verdict = [&](Status status, HolderPlace place) {
    Holder holder = holder_that_is(status);
    holder.place = place;
    const AdmissionDecision decision = decide_admission(holder, request, Time(300s));
    return decision.step == AdmissionStep::answer ? decision.admission.verdict : AdmissionVerdict::created;
  };
  EXPECT_EQ(verdict(Status::running, HolderPlace::other_queue), AdmissionVerdict::already_exists);
  EXPECT_EQ(verdict(Status::running, HolderPlace::other_key), AdmissionVerdict::already_exists);
  EXPECT_EQ(verdict(Status::pending, HolderPlace::other_queue), AdmissionVerdict::already_exists)
      << "the one before it may run there";
  EXPECT_EQ(verdict(Status::running, HolderPlace::other_task), AdmissionVerdict::created) << "they share the line";
  EXPECT_EQ(verdict(Status::completed, HolderPlace::other_queue), AdmissionVerdict::created);
  request.mode = IdentityMode::debounce;
  EXPECT_EQ(verdict(Status::running, HolderPlace::other_queue), AdmissionVerdict::created);
}

}  // namespace
}  // namespace hapax::model
