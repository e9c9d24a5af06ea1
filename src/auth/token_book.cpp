#include "auth/token_book.hpp"

#include <hapax/error.hpp>

#include "auth/token_file.hpp"
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
  guarded_ = true;
}

TokenBook::Door TokenBook::recall_door() {
  const std::lock_guard lock(mutex_);
  if (guarded_) { return Door::guarded; }
  return is_fresh(seen_open_at_, clock_->now()) ? Door::open : Door::not_sure;
}

TokenBook::Door TokenBook::look_at_door() {
  if (recall_door() == Door::guarded) { return Door::guarded; }
  const bool guarded = store_->has_tokens();
  const std::lock_guard lock(mutex_);
  // Once shut it stays shut: tokens are never deleted, and a store that forgets them is not to be trusted.
  guarded_ = guarded_ || guarded;
  seen_open_at_ = clock_->now();
  return guarded_ ? Door::guarded : Door::open;
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

// Not at every request: the store takes it at most once a minute, and is asked no more often.
void TokenBook::note_use(const model::Token& token, Time now) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = used_at_.find(token.id);
    if (at != used_at_.end() && at->second > now - model::token_touch_every) { return; }
    // The store is busy: a later use is noted.
    if (noting_.valid() && noting_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) { return; }
    if (used_at_.size() >= remembered) { used_at_.clear(); }
    try {
      noting_ = std::async(std::launch::async, [store = store_, id = token.id] {
                  try {
                    store->touch_tokens({&id, 1});
                  } catch (const std::exception&) {
                    return;  // to be seen in a list of tokens, and nothing more
                  }
                }).share();
    } catch (const std::system_error&) {
      return;  // no thread to be had
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
    // Still full: of the wrong ones there are as many as somebody likes to try.
    if (answers_.size() >= remembered) {
      std::erase_if(answers_, [](const auto& one) { return !one.second.answer.token; });
    }
    if (answers_.size() >= remembered) { answers_.clear(); }
  }
  answers_[hash] = {.answer = answer, .at = now};
}

// All lines are compared, so that the time tells nothing of where one stands.
const model::Token* TokenBook::find_in_file(const base::Digest& hash) const {
  const model::Token* found = nullptr;
  for (const model::Token& token : in_file_) {
    if (is_same(token.hash, hash)) { found = &token; }
  }
  return found;
}

// What cannot be read counts as deleted: a revoked token must not live on because of a slip in another line.
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
