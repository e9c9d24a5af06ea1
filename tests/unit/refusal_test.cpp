// The table of refused admissions: the library's exceptions, batch answers and recorded errors have the same names.
#include "model/refusal.hpp"

#include <hapax/error.hpp>

#include "model/error_table.hpp"

#include <gtest/gtest.h>

namespace hapax::model {
namespace {

TEST(RefusalTest, EachVerdictHasOneName) {
  for (int value = 0; value <= static_cast<int>(AdmissionVerdict::name_taken); ++value) {
    Admission admission;
    admission.verdict = static_cast<AdmissionVerdict>(value);
    const std::string name(refusal_name(admission.verdict));
    std::string thrown;
    try {
      model::throw_if_refused(admission, {.task = "charge", .key = "order-456"});
    } catch (const Error& error) { thrown = error.name(); }
    EXPECT_EQ(thrown, name) << value;
    const std::string recorded = refusal_of(admission).type;
    EXPECT_TRUE(recorded == name || recorded.empty()) << value << ": " << recorded;
    EXPECT_TRUE(name.empty() || find_error(name) != nullptr) << name;
  }
}

TEST(RefusalTest, AnUnknownNameHasNoStatus) {
  EXPECT_EQ(find_error("OutOfMemory"), nullptr);
  EXPECT_EQ(find_error("TaskAlreadyExists")->http_status, 409);
  EXPECT_EQ(find_error("TaskAlreadyExists")->exit_code, 3);
}

}  // namespace
}  // namespace hapax::model
