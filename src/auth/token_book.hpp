// TokenBook: which tokens are good, for a server that is asked at every request.
//
// Answers are kept for a short time (remembered_for): within that a revoked token may still be taken, and one that was just
// made is known at once, as only answers that were asked for are kept. A flood of wrong tokens costs a read each, and memory
// for a bounded number of them. Any thread. recall() looks into memory alone; look_up() may ask the store and read the file.
#pragma once

#include "auth/secret.hpp"
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

struct BookOptions {
  std::string file;  // --token-file; empty: the store's tokens alone
  // Something a person should know: a line of the file that cannot be read. No secret is in it. Must not throw.
  std::function<void(std::string_view)> on_trouble{};
  std::shared_ptr<const base::Clock> clock{};  // null: the machine's
};

class TokenBook {
 public:
  static constexpr Duration remembered_for = std::chrono::seconds(5);
  static constexpr std::size_t remembered = 10'000;  // answers, good and bad together

  // Throws ConfigurationError for a file that cannot be taken.
  TokenBook(std::shared_ptr<store::Store> store, BookOptions options);

  enum class Door : std::uint8_t {
    open,      // there are no tokens: anybody may come in
    guarded,   // there are, or there were
    not_sure,  // ask look_at_door()
  };
  [[nodiscard]] Door recall_door();
  [[nodiscard]] Door look_at_door();

  struct Answer {
    std::optional<model::Token> token;  // none: it is not good, for whatever reason
  };
  // Nothing: not known, ask look_up().
  [[nodiscard]] std::optional<Answer> recall(const base::Digest& hash);
  [[nodiscard]] Answer look_up(const base::Digest& hash);

  // Until the uses told so far are noted in the store, or could not be.
  void settle();

 private:
  struct Remembered {
    Answer answer;
    Time at{};
  };

  [[nodiscard]] const model::Token* find_in_file(const base::Digest& hash) const;
  // Not what a clock that was put back makes look new, either.
  [[nodiscard]] static bool is_fresh(const std::optional<Time>& at, Time now) {
    return at && *at <= now && now < *at + remembered_for;
  }
  [[nodiscard]] bool file_is_fresh(Time now) const { return options_.file.empty() || is_fresh(file_read_at_, now); }
  void read_file_again(Time now);
  void remember(const base::Digest& hash, const Answer& answer, Time now);
  [[nodiscard]] Answer ask_store(const base::Digest& hash);
  // Aside: nobody waits for a store that is busy, to learn that a token is good.
  void note_use(const model::Token& token, Time now);

  const std::shared_ptr<store::Store> store_;
  const BookOptions options_;
  const std::shared_ptr<const base::Clock> clock_;
  std::mutex mutex_;  // guards what follows; never held while the store or the file is asked
  std::vector<model::Token> in_file_;
  std::optional<Time> file_read_at_;
  std::map<base::Digest, Remembered> answers_;
  std::map<Uuid, Time> used_at_;
  std::shared_future<void> noting_;  // at most one at a time; the last to go waits for it
  bool guarded_ = false;
  std::optional<Time> seen_open_at_;
};

}  // namespace hapax::auth
