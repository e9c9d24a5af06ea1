// A caller without the right to read learns that a key is taken, and nothing else.
#include "api/routes/admission_answer.hpp"

#include "base/uuid7.hpp"
#include "http/http_error.hpp"

#include <gtest/gtest.h>

namespace hapax::api {
namespace {

using model::AdmissionVerdict;

const http::Principal producer{.namespace_name = "shop", .name = "producer", .enqueue = true};
const http::Principal reader{.namespace_name = "shop", .name = "reader", .enqueue = true, .read = true};

model::Admission met(AdmissionVerdict verdict, Status status) {
  model::Admission admission;
  admission.verdict = verdict;
  admission.id = base::new_uuid7();
  admission.status = status;
  admission.deduplicated_from = Time(std::chrono::seconds(1'772'355'600));
  if (is_terminal(status)) { admission.finished_at = Time(std::chrono::seconds(1'772'355'700)); }
  if (status == Status::completed) { admission.result = R"({"secret":1})"; }
  return admission;
}

TEST(AdmissionAnswer, OneTextForEveryHolder) {
  const model::Asking asked{.task = "pay", .key = "payment-123"};
  const auto first = refusal_of(met(AdmissionVerdict::already_exists, Status::running), asked, producer);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->name, "TaskAlreadyExists");
  EXPECT_EQ(first->http_status, 409);
  EXPECT_EQ(first->facts, "");
  const std::pair<AdmissionVerdict, Status> holders[] = {{AdmissionVerdict::already_exists, Status::pending},
                                                         {AdmissionVerdict::already_completed, Status::completed},
                                                         {AdmissionVerdict::already_finished, Status::failed},
                                                         {AdmissionVerdict::already_finished, Status::timed_out}};
  for (const auto& [verdict, status] : holders) {
    const model::Admission admission = met(verdict, status);
    const auto other = refusal_of(admission, asked, producer);
    ASSERT_TRUE(other);
    EXPECT_EQ(http::problem_json(*other), http::problem_json(*first));
    EXPECT_FALSE(is_in_progress(admission, producer));
  }
}

TEST(AdmissionAnswer, AMismatchIsSaidWithoutItsHolder) {
  const auto refusal = refusal_of(met(AdmissionVerdict::mismatch, Status::completed), {"pay", "k"}, producer);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->name, "IdempotencyMismatch");
  EXPECT_EQ(refusal->http_status, 422);
  EXPECT_EQ(refusal->facts, "");
}

TEST(AdmissionAnswer, AReaderGetsTheFacts) {
  const model::Admission running = met(AdmissionVerdict::already_exists, Status::running);
  const auto first = refusal_of(running, {"pay", "payment-123"}, reader);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->message, "Task with ID 'payment-123' is already running");
  EXPECT_NE(first->facts.find(running.id.to_string()), std::string::npos);
  EXPECT_NE(first->facts.find("existing_created_at"), std::string::npos);
  EXPECT_TRUE(is_in_progress(running, reader));
  const model::Admission completed = met(AdmissionVerdict::already_completed, Status::completed);
  const auto second = refusal_of(completed, {"pay", "payment-123"}, reader);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->name, "TaskAlreadyCompleted");
  EXPECT_NE(second->facts.find(R"("result":{"secret":1})"), std::string::npos);
  EXPECT_FALSE(is_in_progress(completed, reader));
}

TEST(AdmissionAnswer, WhoMayNotReadIsNotGivenTheExisting) {
  for (const OnConflict policy :
       {OnConflict::return_existing, OnConflict::wait, OnConflict::reject, OnConflict::terminate_existing}) {
    api::RequestFields fields;
    fields.options.on_conflict = policy;
    fit_to_principal(fields, reader);
    EXPECT_EQ(fields.options.on_conflict, policy);
    fit_to_principal(fields, producer);
    EXPECT_EQ(fields.options.on_conflict, OnConflict::reject);
  }
}

TEST(AdmissionAnswer, WhoMayNotReadNamesNoReusePolicy) {
  for (const Reuse reuse : {Reuse::allow, Reuse::reject, Reuse::failed_only}) {
    api::RequestFields fields;
    fields.options.reuse = reuse;
    EXPECT_NO_THROW(fit_to_principal(fields, reader));
    EXPECT_THROW(fit_to_principal(fields, producer), http::Forbidden);
  }
  EXPECT_THROW((void)parse_request(R"({"on_conflict":"nonsense"})", {}, "body"), InvalidArgument);
}

// Only a mode that replaces the holder's input accepts a request that was deduplicated; in other modes it was refused.
TEST(AdmissionAnswer, OnlyTheLatestInputIsTakenUnseen) {
  const model::Admission admission = met(AdmissionVerdict::deduplicated, Status::pending);
  EXPECT_TRUE(refusal_of(admission, {.task = "pay", .key = "k", .mode = model::IdentityMode::hold}, producer));
  EXPECT_FALSE(refusal_of(admission, {.task = "pay", .key = "k", .mode = model::IdentityMode::debounce}, producer));
}

TEST(AdmissionAnswer, CreatedIsNoRefusal) {
  EXPECT_FALSE(refusal_of(met(AdmissionVerdict::created, Status::pending), {"pay", "k"}, producer));
  EXPECT_FALSE(refusal_of(met(AdmissionVerdict::deduplicated, Status::pending), {"pay", "k"}, reader));
  EXPECT_TRUE(refusal_of(met(AdmissionVerdict::queue_draining, Status::pending), {"pay", "k"}, producer));
}

}  // namespace
}  // namespace hapax::api
