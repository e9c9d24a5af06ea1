#include "app/tokens/token_book.hpp"

#include <hapax/error.hpp>

#include "app/tokens/token_file.hpp"
#include "base/secret_file.hpp"
#include "base/uuid7.hpp"
#include "store/open.hpp"

#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hapax::auth {

namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TokenBookTest : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = testing::TempDir() + "hapax_book_" + std::to_string(getpid());
    std::filesystem::remove(file_);
  }
  void TearDown() override { std::filesystem::remove(file_); }

  TokenBook book(const std::string& file = "") {
    return TokenBook(
        store_,
        {.file = file, .on_trouble = [this](std::string_view what) { troubles_.emplace_back(what); }, .clock = clock_});
  }

  model::Token make(std::optional<Duration> expires_in = std::nullopt) {
    model::NewToken token;
    token.id = base::new_uuid7();
    token.hash = new_secret(random_).hash;
    token.scopes = model::parse_scopes("read");
    token.expires_in = expires_in;
    return store_->add_token(token, {"ann"});
  }

  // Everything that the server does with a token: first the cache, then the store.
  static std::optional<model::Token> ask(TokenBook& book, const base::Digest& hash) {
    const std::optional<TokenBook::Answer> known = book.recall(hash);
    return known ? known->token : book.look_up(hash).token;
  }

  base::SeededRandom random_{3};
  const std::shared_ptr<base::ManualClock> clock_ =
      std::make_shared<base::ManualClock>(parse_time("2026-03-01T09:00:00Z"));
  const std::shared_ptr<store::Store> store_ = store::open("memory:", {.clock = clock_});
  std::string file_;
  std::vector<std::string> troubles_;
};

TEST_F(TokenBookTest, TheDoorIsOpenUntilThereIsATokenAndNeverAfter) {
  TokenBook book = this->book();
  EXPECT_EQ(book.recall_needs_token(), TokenBook::NeedsToken::unknown);
  EXPECT_EQ(book.look_up_needs_token(), TokenBook::NeedsToken::no);
  EXPECT_EQ(book.recall_needs_token(), TokenBook::NeedsToken::no);
  const model::Token token = make();
  clock_->advance(TokenBook::remembered_for);
  EXPECT_EQ(book.recall_needs_token(), TokenBook::NeedsToken::unknown);
  EXPECT_EQ(book.look_up_needs_token(), TokenBook::NeedsToken::yes);
  EXPECT_TRUE(store_->revoke_token("default", token.id, {"ann"}));
  clock_->advance(1h);
  EXPECT_EQ(book.recall_needs_token(), TokenBook::NeedsToken::yes);
  EXPECT_EQ(book.look_up_needs_token(), TokenBook::NeedsToken::yes);
}

TEST_F(TokenBookTest, ATokenIsAskedForOnceAndThenRemembered) {
  TokenBook book = this->book();
  const model::Token token = make();
  EXPECT_FALSE(book.recall(token.hash).has_value());
  ASSERT_TRUE(book.look_up(token.hash).token.has_value());
  const std::optional<TokenBook::Answer> known = book.recall(token.hash);
  ASSERT_TRUE(known && known->token);
  EXPECT_EQ(known->token->id, token.id);
  clock_->advance(TokenBook::remembered_for);
  EXPECT_FALSE(book.recall(token.hash).has_value());
}

TEST_F(TokenBookTest, ARevocationCountsWithinSeconds) {
  TokenBook book = this->book();
  const model::Token token = make();
  EXPECT_TRUE(ask(book, token.hash).has_value());
  EXPECT_TRUE(store_->revoke_token("default", token.id, {"ann"}));
  clock_->advance(TokenBook::remembered_for);
  EXPECT_FALSE(ask(book, token.hash).has_value());
}

TEST_F(TokenBookTest, AnExpiredTokenIsNotRememberedAsGood) {
  TokenBook book = this->book();
  const model::Token token = make(2s);
  EXPECT_TRUE(ask(book, token.hash).has_value());
  clock_->advance(2s);
  EXPECT_FALSE(ask(book, token.hash).has_value());
}

TEST_F(TokenBookTest, AClockThatIsPutBackDoesNotKeepARevokedTokenAlive) {
  TokenBook book = this->book();
  const model::Token token = make();
  EXPECT_TRUE(ask(book, token.hash).has_value());
  EXPECT_TRUE(store_->revoke_token("default", token.id, {"ann"}));
  clock_->advance(-1h);
  EXPECT_FALSE(ask(book, token.hash).has_value());
}

TEST_F(TokenBookTest, AWrongTokenIsWrongAndANewOneIsKnownAtOnce) {
  TokenBook book = this->book();
  EXPECT_FALSE(ask(book, base::sha256("guess")).has_value());
  EXPECT_FALSE(book.recall(base::sha256("guess"))->token.has_value());
  const model::Token token = make();
  EXPECT_TRUE(ask(book, token.hash).has_value());
}

TEST_F(TokenBookTest, AFloodOfWrongTokensPushesNoGoodOneOut) {
  TokenBook book = this->book();
  const model::Token token = make();
  EXPECT_TRUE(ask(book, token.hash).has_value());
  for (std::size_t i = 0; i < TokenBook::remembered + 10; ++i) {
    EXPECT_FALSE(ask(book, base::sha256(std::to_string(i))).has_value());
  }
  EXPECT_TRUE(book.recall(token.hash).has_value());
}

TEST_F(TokenBookTest, UseIsNotedAboutOnceAMinute) {
  TokenBook book = this->book();
  const model::Token token = make();
  EXPECT_TRUE(ask(book, token.hash).has_value());
  book.settle();
  const Time first = clock_->now();
  EXPECT_EQ(store_->find_token(token.hash)->last_used_at, first);
  clock_->advance(30s);
  EXPECT_TRUE(ask(book, token.hash).has_value());
  book.settle();
  EXPECT_EQ(store_->find_token(token.hash)->last_used_at, first);
  clock_->advance(31s);
  EXPECT_TRUE(ask(book, token.hash).has_value());
  book.settle();
  EXPECT_EQ(store_->find_token(token.hash)->last_used_at, clock_->now());
}

TEST_F(TokenBookTest, TokensOfAFileGuardTheDoorAndAreReadAgain) {
  model::Token token;
  token.id = base::new_uuid7();
  token.namespace_name = "shop";
  token.hash = base::sha256("in the file");
  token.scopes = model::parse_scopes("work");
  base::append_secret_line(file_, token_line(token));
  TokenBook book = this->book(file_);
  EXPECT_EQ(book.recall_needs_token(), TokenBook::NeedsToken::yes);
  ASSERT_TRUE(book.recall(token.hash).has_value());
  EXPECT_EQ(ask(book, token.hash)->namespace_name, "shop");

  model::Token next = token;
  next.hash = base::sha256("added later");
  base::append_secret_line(file_, "# a remark");
  base::append_secret_line(file_, token_line(next));
  clock_->advance(TokenBook::remembered_for);
  EXPECT_TRUE(ask(book, next.hash).has_value());

  std::ofstream(file_) << token_line(next) << "\n";
  clock_->advance(TokenBook::remembered_for);
  EXPECT_FALSE(ask(book, token.hash).has_value());
  EXPECT_TRUE(ask(book, next.hash).has_value());
  EXPECT_THAT(troubles_, IsEmpty());
}

TEST_F(TokenBookTest, ALineThatCannotBeReadIsToldAndTheOthersCount) {
  model::Token token;
  token.id = base::new_uuid7();
  token.namespace_name = "shop";
  token.hash = base::sha256("in the file");
  token.scopes = model::parse_scopes("work");
  base::append_secret_line(file_, token_line(token));
  TokenBook book = this->book(file_);
  base::append_secret_line(file_, "hapax_half a token");
  clock_->advance(TokenBook::remembered_for);
  EXPECT_TRUE(ask(book, token.hash).has_value());
  ASSERT_THAT(troubles_, SizeIs(1));
  EXPECT_THAT(troubles_[0], HasSubstr(":2: "));
  EXPECT_THAT(troubles_[0], Not(HasSubstr("half")));

  std::filesystem::remove(file_);
  clock_->advance(TokenBook::remembered_for);
  EXPECT_FALSE(ask(book, token.hash).has_value()) << "a deleted file has no tokens";
  EXPECT_EQ(book.recall_needs_token(), TokenBook::NeedsToken::yes);
}

TEST_F(TokenBookTest, ABadFileIsRefusedAtStart) {
  base::append_secret_line(file_, "{}");
  EXPECT_THROW((void)book(file_), ConfigurationError);
  EXPECT_THROW((void)book(file_ + ".absent"), ConfigurationError);
}

}  // namespace

}  // namespace hapax::auth
