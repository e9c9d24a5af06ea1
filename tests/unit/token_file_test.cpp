#include "app/tokens/token_file.hpp"

#include <hapax/error.hpp>

#include "base/secret_file.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hapax::auth {

namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

model::Token billing() {
  model::Token token;
  token.id = *Uuid::parse("0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f");
  token.namespace_name = "shop";
  token.name = "billing";
  token.hash = base::sha256("secret");
  token.scopes = model::parse_scopes("enqueue,read");
  token.expires_at = parse_time("2026-03-01T09:00:00Z");
  return token;
}

class TokenFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "hapax_tokens_" + std::to_string(getpid());
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string path_;
};

TEST(TokenLine, IsReadAsItWasWritten) {
  const TokenLines lines = parse_token_lines(token_line(billing()) + "\n", "f");
  ASSERT_THAT(lines.problems, IsEmpty());
  ASSERT_THAT(lines.tokens, SizeIs(1));
  const model::Token& token = lines.tokens[0];
  EXPECT_EQ(token.id, billing().id);
  EXPECT_EQ(token.namespace_name, "shop");
  EXPECT_EQ(token.name, "billing");
  EXPECT_EQ(token.hash, billing().hash);
  EXPECT_EQ(token.scopes, billing().scopes);
  EXPECT_EQ(token.expires_at, billing().expires_at);
}

TEST(TokenLine, RemarksEmptyLinesAndCarriageReturnsArePassedOver) {
  model::Token token = billing();
  token.expires_at.reset();
  token.name.clear();
  const TokenLines lines = parse_token_lines("# ours\n\n  \t\n" + token_line(token) + "\r\n# end", "f");
  EXPECT_THAT(lines.problems, IsEmpty());
  ASSERT_THAT(lines.tokens, SizeIs(1));
  EXPECT_EQ(lines.tokens[0].expires_at, std::nullopt);
}

TEST(TokenLine, WhatIsNoneIsToldWithItsPlace) {
  const std::string good = token_line(billing());
  const auto changed = [&good](const std::string& from, const std::string& to) {
    std::string line = good;
    line.replace(line.find(from), from.size(), to);
    return line;
  };
  for (const std::string& bad :
       {std::string("hapax_abc"), std::string("[]"), std::string("{}"), changed("shop", ""), changed("read", "reed"),
        changed("[\"enqueue\",\"read\"]", "[]"), changed("[\"enqueue\",\"read\"]", "\"read\""),
        changed("\"id\"", "\"Id\""), changed("2026-03-01T09:00:00", "tomorrow"),
        changed(base::to_hex(billing().hash), "abc"), changed(base::to_hex(billing().hash), std::string(64, 'g')),
        changed("}", ",\"more\":1}"), good + "}"}) {
    const TokenLines lines = parse_token_lines(good + "\n" + bad + "\n", "tokens");
    EXPECT_THAT(lines.tokens, SizeIs(1)) << bad;
    ASSERT_THAT(lines.problems, SizeIs(1)) << bad;
    EXPECT_THAT(lines.problems[0], StartsWith("tokens:2: "));
  }
}

TEST_F(TokenFile, ALineIsAddedToAFileThatOnlyItsOwnerMayRead) {
  base::append_secret_line(path_, token_line(billing()));
  base::append_secret_line(path_, token_line(billing()));
  struct stat facts {};
  ASSERT_EQ(stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  EXPECT_THAT(read_token_file(path_), SizeIs(2));
}

TEST_F(TokenFile, IsRefusedWhenOthersMayReadOrWriteIt) {
  base::append_secret_line(path_, token_line(billing()));
  for (const mode_t mode : {0604U, 0640U, 0602U, 0620U, 0644U}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    EXPECT_THROW((void)read_token_file(path_), ConfigurationError) << std::oct << mode;
    EXPECT_THROW(base::append_secret_line(path_, "{}"), ConfigurationError) << std::oct << mode;
  }
  ASSERT_EQ(chmod(path_.c_str(), 0400), 0);
  EXPECT_THAT(read_token_file(path_), SizeIs(1));
}

TEST_F(TokenFile, WhatIsNoPlainFileIsRefusedAndHoldsNobodyUp) {
  EXPECT_THROW((void)read_token_file(path_), ConfigurationError) << "it is not there";
  EXPECT_THROW((void)read_token_file(testing::TempDir()), ConfigurationError);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THROW((void)read_token_file(path_), ConfigurationError);
}

TEST_F(TokenFile, AnEndlessOneIsNotReadWhole) {
  base::append_secret_line(path_, std::string(3 << 20, '#'));
  try {
    (void)read_token_file(path_);
    ADD_FAILURE();
  } catch (const ConfigurationError& error) { EXPECT_THAT(error.what(), HasSubstr("limit")); }
}

}  // namespace

}  // namespace hapax::auth
