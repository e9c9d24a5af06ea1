#include "http/metrics.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>

namespace hapax::http {
namespace {

using testing::HasSubstr;

const Principal administrator{.admin = true};

TEST(Metrics, AreTextThatPrometheusReads) {
  Metrics metrics;
  metrics.counter("hapax_admissions_total", "Admissions", {{"outcome", "created"}}).add(3);
  metrics.counter("hapax_admissions_total", "Admissions", {{"outcome", "created"}}).add();
  metrics.gauge("hapax_open", "With \\ and\nline").set(-2);
  EXPECT_EQ(metrics.text(administrator),
            "# HELP hapax_admissions_total Admissions\n# TYPE hapax_admissions_total counter\n"
            "hapax_admissions_total{outcome=\"created\"} 4\n"
            "# HELP hapax_open With \\\\ and\\nline\n# TYPE hapax_open gauge\nhapax_open -2\n");
}

// Counters of the whole process cover every tenant, so only administrators see them.
TEST(Metrics, AreForAdministratorsButForTheirOwnNamespace) {
  Metrics metrics;
  metrics.counter("hapax_admissions_total", "Admissions").add(3);
  metrics.on_look([](MetricsText& text, const Principal& principal) {
    text.begin_family("hapax_queue_depth", "gauge", "Depth");
    text.value({{"namespace", principal.namespace_name}}, 7);
  });
  const std::string text = metrics.text({.namespace_name = "shop", .read = true});
  EXPECT_THAT(text, testing::Not(HasSubstr("hapax_admissions_total")));
  EXPECT_THAT(text, HasSubstr("hapax_queue_depth{namespace=\"shop\"} 7\n"));
}

TEST(Metrics, EscapeLabels) {
  Metrics metrics;
  metrics.counter("c", "", {{"queue", "a\"b\\c\nd"}}).add();
  EXPECT_THAT(metrics.text(administrator), HasSubstr(R"(c{queue="a\"b\\c\nd"} 1)"));
}

TEST(Metrics, HistogramsCountWhatIsAtMostEachBound) {
  Metrics metrics;
  const std::vector<double> bounds{1, 2.5};
  Histogram& histogram = metrics.histogram("h", "", {{"a", "b"}}, bounds);
  for (const double value : {0.5, 1.0, 2.0, 3.0}) { histogram.observe(value); }
  EXPECT_THAT(metrics.text(administrator), HasSubstr("h_bucket{a=\"b\",le=\"1\"} 2\n"
                                                     "h_bucket{a=\"b\",le=\"2.5\"} 3\n"
                                                     "h_bucket{a=\"b\",le=\"+Inf\"} 4\n"
                                                     "h_sum{a=\"b\"} 6.5\n"
                                                     "h_count{a=\"b\"} 4\n"));
  EXPECT_THROW(Histogram(std::vector<double>{2, 1}), UsageError);
}

TEST(Metrics, ANameIsOfOneKind) {
  Metrics metrics;
  metrics.counter("x", "").add();
  EXPECT_THROW((void)metrics.gauge("x", ""), UsageError);
}

TEST(Metrics, ACollectorThatFailsLeavesTheOthersAlone) {
  Metrics metrics;
  metrics.on_look([](MetricsText& text, const Principal& principal) {
    text.begin_family("hapax_queue_depth", "gauge", "Depth");
    text.value({{"namespace", principal.namespace_name}}, 7);
  });
  metrics.on_look([](MetricsText& text, const Principal&) {
    text.begin_family("half", "gauge", "");
    throw StoreUnavailable("at a secret place");
  });
  const std::string text = metrics.text({.namespace_name = "shop"});
  EXPECT_THAT(text, HasSubstr("hapax_queue_depth{namespace=\"shop\"} 7\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("half")));
  EXPECT_THAT(text, testing::Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace hapax::http
