// The dashboard's document and files as a browser asks for them.
#include "api/routes/dashboard.hpp"

#include "api/routes/dashboard_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace hapax::api {
namespace {

TEST(Dashboard, BaseLeadsFromAPagesPathToTheRoot) {
  const std::string_view document = R"(<head><base href="./" /><script src="./assets/a.js"></script>)";
  EXPECT_EQ(with_base(document, 0), document);
  EXPECT_EQ(with_base(document, 1), document);
  EXPECT_EQ(with_base(document, 2), R"(<head><base href="../" /><script src="./assets/a.js"></script>)");
  EXPECT_EQ(with_base(document, 4), R"(<head><base href="../../../" /><script src="./assets/a.js"></script>)");
  EXPECT_EQ(with_base("no base", 3), "no base");
}

TEST(Dashboard, CompressesForClientsThatTakeGzip) {
  EXPECT_TRUE(takes_gzip({"gzip"}));
  EXPECT_TRUE(takes_gzip({"br, GZIP;q=0.5"}));
  EXPECT_TRUE(takes_gzip({"br", "deflate , gzip"}));
  EXPECT_FALSE(takes_gzip({}));
  EXPECT_FALSE(takes_gzip({"identity"}));
  EXPECT_FALSE(takes_gzip({"gzip;q=0"}));
  EXPECT_FALSE(takes_gzip({"br, gzip; q=0.000"}));
  EXPECT_FALSE(takes_gzip({"xgzip, gzipped"}));
}

TEST(Dashboard, HasADocumentAndNothingFromElsewhere) {
  const auto files = dashboard_files();
  EXPECT_EQ(std::ranges::count(files, "index.html", &DashboardFile::path), 1);
  for (const DashboardFile& file : files) {
    EXPECT_FALSE(file.plain.empty()) << file.path;
    EXPECT_TRUE(file.gzip.starts_with("\x1f\x8b")) << file.path;
    if (file.path != "index.html") { continue; }
    EXPECT_NE(file.plain.find("<base href=\"./\""), std::string_view::npos);
    EXPECT_EQ(file.plain.find("http:"), std::string_view::npos);
    EXPECT_EQ(file.plain.find("https:"), std::string_view::npos);
    EXPECT_EQ(file.plain.find("style="), std::string_view::npos);
  }
}

}  // namespace
}  // namespace hapax::api
