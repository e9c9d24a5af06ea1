// Doctor: a healthy store has no findings.
#include "conformance/fixture.hpp"

#include <algorithm>
#include <array>

namespace hapax::conformance {

namespace {

using store::Finding;

class DoctorConformance : public Conformance {
 protected:
  // Test servers run without fsync, and the doctor rightly reports that: a finding about the server, not the store.
  static bool is_about_the_server(const Finding& finding) {
    static constexpr std::array<std::string_view, 3> subjects{"fsync", "synchronous_commit", "full_page_writes"};
    return std::find(subjects.begin(), subjects.end(), finding.subject) != subjects.end();
  }

  std::vector<Finding> findings() {
    std::vector<Finding> all = store().doctor();
    std::erase_if(all, is_about_the_server);
    return all;
  }
};

TEST_F(DoctorConformance, FindsNoProblemInAFreshStore) {
  EXPECT_FALSE(findings().empty());
  for (const Finding& finding : findings()) {
    EXPECT_NE(finding.level, Finding::Level::problem) << finding.subject << ": " << finding.detail;
    EXPECT_FALSE(finding.subject.empty());
    EXPECT_FALSE(finding.detail.empty());
  }
}

TEST_F(DoctorConformance, FindsNoProblemInAStoreAtWork) {
  bring_to(admit_id(request()), Status::completed);
  bring_to(admit_id(request()), Status::failed);
  bring_to(admit_id(request()), Status::running);
  admit_id(keyed("order-1"));
  for (const Finding& finding : findings()) {
    EXPECT_NE(finding.level, Finding::Level::problem) << finding.subject << ": " << finding.detail;
  }
}

TEST_F(DoctorConformance, AdvisesWhereItWarns) {
  for (const Finding& finding : store().doctor()) {
    if (finding.level != Finding::Level::ok) { EXPECT_FALSE(finding.advice.empty()) << finding.subject; }
  }
}

}  // namespace

}  // namespace hapax::conformance
