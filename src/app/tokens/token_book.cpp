#include "app/tokens/token_book.hpp"

#include <hapax/error.hpp>

#include "app/tokens/token_file.hpp"
#include "base/secret_file.hpp"

#include <chrono>
#include <system_error>

namespace hapax::auth {

TokenBook::TokenBook(std::shared_ptr<store::Store> store, BookOptions options)
    : store_(std::move(store)),
      options_(std::move(options)),
      clock_(options_.clock ? options_.clock : std::make_shared<base::SystemClock>()) {
  if (options_.file.empty()) { return; }
  in_file_ = read_token_file(options_.file);
  file_read_at_ = clock_->now();
  needs_token_ = true;
}

TokenBook::NeedsToken TokenBook::recall_needs_token() {
  const std::lock_guard lock(mutex_);
  if (needs_token_) { return NeedsToken::yes; }
  return is_fresh(no_token_seen_at_, clock_->now()) ? NeedsToken::no : NeedsToken::unknown;
}

TokenBook::NeedsToken TokenBook::look_up_needs_token() {
  if (recall_needs_token() == NeedsToken::yes) { return NeedsToken::yes; }
  const bool has_tokens = store_->has_tokens();
  const std::lock_guard lock(mutex_);
  // A server that has needed tokens always needs tokens: tokens are never deleted, and a store that loses them must not
  // open the server.
  needs_token_ = needs_token_ || has_tokens;
  no_token_seen_at_ = clock_->now();
  return needs_token_ ? NeedsToken::yes : NeedsToken::no;
}

std::optional<TokenBook::Answer> TokenBook::recall(const base::Digest& hash) {
  const std::lock_guard lock(mutex_);
  const Time now = clock_->now();
  if (!file_is_fresh(now)) { return std::nullopt; }
  if (const model::Token* const token = find_in_file(hash)) {
    return Answer{.token = token->is_good(now) ? std::optional(*token) : std::nullopt};
  }
  const auto found = answers_.find(hash);
  if (found == answers_.end() || !is_fresh(found->second.at, now)) { return std::nullopt; }
  const Answer& answer = found->second.answer;
  return answer.token && !answer.token->is_good(now) ? Answer{} : answer;
}

TokenBook::Answer TokenBook::look_up(const base::Digest& hash) {
  const Time now = clock_->now();
  bool fresh = false;
  {
    const std::lock_guard lock(mutex_);
    fresh = file_is_fresh(now);
  }
  if (!fresh) { read_file_again(now); }
  {
    const std::lock_guard lock(mutex_);
    if (const model::Token* const token = find_in_file(hash)) {
      return {.token = token->is_good(now) ? std::optional(*token) : std::nullopt};
    }
  }
  Answer answer = ask_store(hash);
  if (answer.token) { note_use(*answer.token, now); }
  remember(hash, answer, now);
  return answer;
}

TokenBook::Answer TokenBook::ask_store(const base::Digest& hash) {
  std::optional<model::Token> found = store_->find_token(hash);
  if (!found || !is_same(found->hash, hash) || !found->is_good(store_->now())) { return {}; }
  return {.token = std::move(found)};
}

// Records a use at most once a minute per token, which is as often as the store takes it.
void TokenBook::note_use(const model::Token& token, Time now) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = used_at_.find(token.id);
    if (at != used_at_.end() && at->second > now - model::token_touch_every) { return; }
    // The previous use is still being stored: a later use is recorded instead.
    if (noting_.valid() && noting_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) { return; }
    if (used_at_.size() >= remembered) { used_at_.clear(); }
    try {
      noting_ = std::async(std::launch::async, [store = store_, id = token.id] {
                  try {
                    store->touch_tokens({&id, 1});
                  } catch (const std::exception&) {
                    return;  // the time of use is only shown in token lists
                  }
                }).share();
    } catch (const std::system_error&) {
      return;  // no thread available
    }
    used_at_[token.id] = now;
  }
}

void TokenBook::settle() {
  std::shared_future<void> noting;
  {
    const std::lock_guard lock(mutex_);
    noting = noting_;
  }
  if (noting.valid()) { noting.wait(); }
}

void TokenBook::remember(const base::Digest& hash, const Answer& answer, Time now) {
  const std::lock_guard lock(mutex_);
  if (answers_.size() >= remembered) {
    std::erase_if(answers_, [now](const auto& one) { return !is_fresh(one.second.at, now); });
    // Still full: wrong tokens go first, because a client can make up any number of them.
    if (answers_.size() >= remembered) {
      std::erase_if(answers_, [](const auto& one) { return !one.second.answer.token; });
    }
    if (answers_.size() >= remembered) { answers_.clear(); }
  }
  answers_[hash] = {.answer = answer, .at = now};
}

// Compares all lines, so that the time does not reveal the position of a match.
const model::Token* TokenBook::find_in_file(const base::Digest& hash) const {
  const model::Token* found = nullptr;
  for (const model::Token& token : in_file_) {
    if (is_same(token.hash, hash)) { found = &token; }
  }
  return found;
}

// An unreadable line counts as deleted, and an unreadable file as empty: a revoked token must not stay valid because of
// a mistake elsewhere in the file.
void TokenBook::read_file_again(Time now) {
  TokenLines lines;
  try {
    lines = parse_token_lines(base::read_secret_file(options_.file), options_.file);
  } catch (const ConfigurationError& error) { lines.problems.emplace_back(error.what()); }
  {
    const std::lock_guard lock(mutex_);
    in_file_ = std::move(lines.tokens);
    file_read_at_ = now;
  }
  if (!options_.on_trouble) { return; }
  for (const std::string& problem : lines.problems) { options_.on_trouble(problem); }
}

}  // namespace hapax::auth
