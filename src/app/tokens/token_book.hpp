// TokenBook: checks tokens for a server, at every request. The server owns it. Any thread may call it.
//
// Answers are cached for remembered_for: a revoked token may still be accepted for that long. A new token is known at
// once, because only answers to tokens that were presented are cached. Wrong tokens cost one read each, and memory for
// a bounded number of them. recall() and recall_needs_token() look in memory only; look_up() and look_up_needs_token()
// may ask the store and read the file.
#pragma once

#include "app/tokens/secret.hpp"
#include "base/clock.hpp"
#include "model/token.hpp"
#include "store/store.hpp"

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::auth {

// Options of a TokenBook.
struct BookOptions {
  std::string file;  // the path of --token-file; empty: only the store's tokens
  // Called with problems an operator should know, such as an unreadable line of the file, without secrets. Must not
  // throw.
  std::function<void(std::string_view)> on_trouble{};
  std::shared_ptr<const base::Clock> clock{};  // null: the system's clock
};

class TokenBook {
 public:
  static constexpr Duration remembered_for = std::chrono::seconds(5);
  static constexpr std::size_t remembered = 10'000;  // cached answers, valid and invalid tokens together

  // Throws ConfigurationError for an invalid token file.
  TokenBook(std::shared_ptr<store::Store> store, BookOptions options);

  // Whether requests need a token.
  enum class NeedsToken : std::uint8_t {
    no,       // no token exists: requests need none
    yes,      // tokens exist or existed: requests need one
    unknown,  // call look_up_needs_token()
  };
  [[nodiscard]] NeedsToken recall_needs_token();
  [[nodiscard]] NeedsToken look_up_needs_token();

  struct Answer {
    std::optional<model::Token> token;  // none: the token is not valid
  };
  // The cached answer; none: call look_up().
  [[nodiscard]] std::optional<Answer> recall(const base::Digest& hash);
  [[nodiscard]] Answer look_up(const base::Digest& hash);

  // Waits until the use being recorded is stored, or storing it has failed.
  void settle();

 private:
  struct Remembered {
    Answer answer;
    Time at{};
  };

  [[nodiscard]] const model::Token* find_in_file(const base::Digest& hash) const;
  // Whether `at` is recent. A time in the future, after a clock was set back, is not.
  [[nodiscard]] static bool is_fresh(const std::optional<Time>& at, Time now) {
    return at && *at <= now && now < *at + remembered_for;
  }
  [[nodiscard]] bool file_is_fresh(Time now) const { return options_.file.empty() || is_fresh(file_read_at_, now); }
  void read_file_again(Time now);
  void remember(const base::Digest& hash, const Answer& answer, Time now);
  [[nodiscard]] Answer ask_store(const base::Digest& hash);
  // Records a use on a thread of its own, so that no request waits for a busy store.
  void note_use(const model::Token& token, Time now);

  const std::shared_ptr<store::Store> store_;
  const BookOptions options_;
  const std::shared_ptr<const base::Clock> clock_;
  std::mutex mutex_;  // guards the members below; never held while the store or the file is read
  std::vector<model::Token> in_file_;
  std::optional<Time> file_read_at_;
  std::map<base::Digest, Remembered> answers_;
  std::map<Uuid, Time> used_at_;
  std::shared_future<void> noting_;  // at most one at a time; the destructor waits for it
  bool needs_token_ = false;
  std::optional<Time> no_token_seen_at_;
};

}  // namespace hapax::auth
