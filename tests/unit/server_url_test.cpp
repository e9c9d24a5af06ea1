#include "http/server_url.hpp"

#include <hapax/error.hpp>

#include <gmock/gmock.h>

namespace hapax::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ServerUrl, TakesHostsPortsAndPrefixes) {
  const ServerUrl plain = parse_server_url("http://127.0.0.1:7171");
  EXPECT_FALSE(plain.tls);
  EXPECT_EQ(plain.host, "127.0.0.1");
  EXPECT_EQ(plain.port, "7171");
  EXPECT_EQ(plain.prefix, "");
  EXPECT_EQ(plain.authority(), "127.0.0.1:7171");
  const ServerUrl proxied = parse_server_url("https://hapax.example.org/behind/proxy//");
  EXPECT_TRUE(proxied.tls);
  EXPECT_EQ(proxied.port, "443");
  EXPECT_EQ(proxied.prefix, "/behind/proxy");
  EXPECT_EQ(proxied.authority(), "hapax.example.org");
  const ServerUrl six = parse_server_url("http://[::1]:80/");
  EXPECT_EQ(six.host, "::1");
  EXPECT_EQ(six.authority(), "[::1]");
}

TEST(ServerUrl, RefusesTheRestAndTellsNoSecret) {
  for (const char* odd : {"", "127.0.0.1:7171", "ftp://x", "http://", "http:///v1", "http://:80", "http://h:0",
                          "http://h:65536", "http://h:", "http://h:8o", "http://[::1", "http://[::1]x", "http://[::1]:",
                          "http://h?a=b", "http://h/#x", "http://h h", "http://h\r\nX: y", "http://user:secret@h"}) {
    try {
      (void)parse_server_url(odd);
      ADD_FAILURE() << odd;
    } catch (const ConfigurationError& error) { EXPECT_THAT(error.what(), Not(HasSubstr("secret"))); }
  }
}

TEST(PercentEncoded, LeavesOnlyPlainCharacters) {
  EXPECT_EQ(percent_encoded("a-B.9_~"), "a-B.9_~");
  EXPECT_EQ(percent_encoded("a/b ?&=+%\n\xC3\xBC"), "a%2Fb%20%3F%26%3D%2B%25%0A%C3%BC");
}

}  // namespace
}  // namespace hapax::http
