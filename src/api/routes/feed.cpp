#include "api/routes/feed.hpp"

#include "api/execution_json.hpp"
#include "base/random.hpp"
#include "base/uuid7.hpp"
#include "store/brief.hpp"

#include <algorithm>
#include <charconv>

namespace hapax::api {

namespace {

constexpr std::size_t events_kept = 10'000;
constexpr std::size_t bytes_kept = 8 << 20;
constexpr std::size_t piece_bytes = 256 << 10;
constexpr std::size_t known_most = 5000;
constexpr std::size_t touched_most = 500;
constexpr int page = 100;
constexpr Duration refresh_every = std::chrono::seconds(1);
constexpr Duration refresh_again = std::chrono::milliseconds(100);
// How long a feed without listeners keeps its events, for a listener that lost its connection.
constexpr Duration kept_for = std::chrono::seconds(60);

std::string mark_of(const model::Execution& e) {
  return std::string(to_string(e.status)) + "/" + std::to_string(e.attempt) + "/" + std::to_string(e.fence) + "/" +
         (e.progress ? std::to_string(*e.progress) : "") + "/" + e.progress_message + "/" +
         (e.cancel_requested ? "c" : "") + (e.waiting ? "w" : "") + (e.dead ? "d" : "") + (e.stuck.empty() ? "" : "s") +
         e.note;
}

}  // namespace

Feed::Piece Feed::after(std::uint64_t place) const {
  const std::lock_guard lock(mutex_);
  Piece piece{.text = {}, .next = place};
  const std::uint64_t end = first_ + events_.size();
  if (place + 1 < first_) {
    piece.text = "event: reset\ndata: {\"reason\":\"events were missed; read what you show anew\"}\n\n";
    piece.next = end - 1;
    return piece;
  }
  while (piece.next + 1 < end && piece.text.size() < piece_bytes) {
    ++piece.next;
    piece.text += events_[piece.next - first_];
  }
  return piece;
}

Feed::Start Feed::start(std::string_view last_event_id) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t now = first_ + events_.size() - 1;
  if (last_event_id.empty()) { return {.place = now, .missed = false}; }
  std::uint64_t number = 0;
  if (last_event_id.starts_with(epoch_ + "-")) {
    const std::string_view digits = last_event_id.substr(epoch_.size() + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool is_number = error == std::errc{} && end == digits.data() + digits.size();
    if (is_number && number + 1 >= first_ && number <= now) { return {.place = number, .missed = false}; }
  }
  return {.place = now, .missed = true};
}

void Feed::listen(const std::shared_ptr<http::Signal>& signal) {
  const std::lock_guard lock(mutex_);
  listeners_.push_back(signal);
}

void Feed::leave(const std::shared_ptr<http::Signal>& signal) {
  const std::lock_guard lock(mutex_);
  std::erase(listeners_, signal);
}

bool Feed::has_listeners() const {
  const std::lock_guard lock(mutex_);
  return !listeners_.empty();
}

void Feed::add(std::string_view event, std::string_view json) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = first_ + events_.size();
  std::string text = "id: " + epoch_ + "-" + std::to_string(number) + "\nevent: ";
  text.append(event).append("\ndata: ").append(json).append("\n\n");
  bytes_ += text.size();
  events_.push_back(std::move(text));
  while (events_.size() > events_kept || bytes_ > bytes_kept) {
    bytes_ -= events_.front().size();
    events_.pop_front();
    ++first_;
  }
}

void Feed::raise() const {
  std::vector<std::shared_ptr<http::Signal>> listeners;
  {
    const std::lock_guard lock(mutex_);
    listeners = listeners_;
  }
  for (const std::shared_ptr<http::Signal>& signal : listeners) { signal->raise(); }
}

Feeds::Feeds(engine::Engine& engine) : engine_(engine), epoch_(base::new_uuid7().to_string().substr(0, 13)) {}

Feeds::~Feeds() { stop(); }

void Feeds::stop() {
  std::unique_ptr<engine::StepThread> thread;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  thread.reset();
}

std::shared_ptr<Feed> Feeds::feed(const std::string& namespace_name) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Feed>& found = feeds_[namespace_name];
  if (!found) {
    found = std::make_shared<Feed>(epoch_);
    count_.store(static_cast<int>(feeds_.size()));
  }
  if (!thread_ && !stopping_) {
    thread_ = std::make_unique<engine::StepThread>([this](Time now) { return step(now); });
    thread_->start();
  }
  if (thread_) { thread_->wake(); }
  return found;
}

void Feeds::changed(const std::string& namespace_name, const Uuid& id) {
  if (count_.load(std::memory_order_relaxed) == 0) { return; }
  const std::lock_guard lock(mutex_);
  const auto found = feeds_.find(namespace_name);
  if (found == feeds_.end()) { return; }
  {
    const std::lock_guard feed_lock(found->second->mutex_);
    if (found->second->touched_.size() < touched_most) { found->second->touched_.insert(id); }
  }
  if (thread_) { thread_->wake(); }
}

void Feeds::queues_changed(const std::string& namespace_name) {
  if (count_.load(std::memory_order_relaxed) == 0) { return; }
  const std::lock_guard lock(mutex_);
  if (feeds_.contains(namespace_name) && thread_) { thread_->wake(); }
}

Time Feeds::step(Time now) {
  std::vector<std::pair<std::string, std::shared_ptr<Feed>>> feeds;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(feeds_, [&](const auto& each) {
      const Time refreshed_at = each.second->refreshed_at_;
      return each.second.use_count() == 1 && refreshed_at != Time{} && now - refreshed_at > kept_for;
    });
    count_.store(static_cast<int>(feeds_.size()));
    feeds.assign(feeds_.begin(), feeds_.end());
  }
  Time next = engine::never;
  for (const auto& [namespace_name, feed] : feeds) {
    const bool has_listeners = feed->has_listeners();
    if (!has_listeners) {
      if (feed->refreshed_at_ == Time{}) { feed->refreshed_at_ = now; }
      next = std::min(next, feed->refreshed_at_ + kept_for + refresh_every);
      continue;
    }
    // Changes that come within 100 ms are read together.
    if (feed->has_initial_state_ && now - feed->refreshed_at_ < refresh_again) {
      next = std::min(next, feed->refreshed_at_ + refresh_again);
      continue;
    }
    try {
      refresh(namespace_name, *feed);
    } catch (const std::exception&) {
      // The store is unavailable, so listeners wait for the next read.
    }
    feed->refreshed_at_ = now;
    next = std::min(next, now + refresh_every);
    feed->raise();
  }
  return next;
}

void Feeds::refresh(const std::string& namespace_name, Feed& feed) {
  store::Store& store = engine_.store();
  compare_queues(namespace_name, feed);
  std::set<Uuid> touched;
  {
    const std::lock_guard lock(feed.mutex_);
    touched.swap(feed.touched_);
  }
  std::set<Uuid> seen;
  model::ListQuery newest;
  newest.namespace_name = namespace_name;
  newest.payloads = false;
  newest.limit = page;
  model::ListQuery running = newest;
  running.statuses = {Status::running};
  for (const model::ListQuery& query : {newest, running}) {
    for (const model::Execution& execution : store.list(query)) {
      if (seen.insert(execution.id).second) { compare_execution(feed, execution); }
    }
  }
  std::vector<Uuid> others;
  for (const Uuid& id : touched) {
    if (!seen.contains(id)) { others.push_back(id); }
  }
  std::set<Uuid> gone;  // until they are found
  for (const auto& [id, known] : feed.known_) {
    if (!known.is_over && !seen.contains(id) && !touched.contains(id)) { gone.insert(id); }
  }
  others.insert(others.end(), gone.begin(), gone.end());
  for (const model::Execution& execution : store::list_briefly(store, namespace_name, others)) {
    gone.erase(execution.id);
    if (touched.contains(execution.id) || is_terminal(execution.status)) { compare_execution(feed, execution); }
  }
  for (const Uuid& id : gone) { feed.known_.erase(id); }
  while (feed.known_.size() > known_most) { feed.known_.erase(feed.known_.begin()); }
  feed.has_initial_state_ = true;
}

void Feeds::compare_queues(const std::string& namespace_name, Feed& feed) {
  for (const model::QueueInfo& info : engine_.store().queues(namespace_name)) {
    // The age of the oldest execution grows by itself, which is no change.
    model::QueueInfo compared = info;
    compared.oldest_ready.reset();
    std::string mark = api::queue_json(compared);
    std::string& known = feed.queues_[info.queue.name];
    if (known == mark) { continue; }
    known = std::move(mark);
    if (feed.has_initial_state_) { feed.add("queue", api::queue_json(info)); }
  }
}

void Feeds::compare_execution(Feed& feed, const model::Execution& execution) {
  Feed::Seen& known = feed.known_[execution.id];
  std::string mark = mark_of(execution);
  if (known.mark == mark) { return; }
  known.mark = std::move(mark);
  known.is_over = is_terminal(execution.status);
  // Executions that existed before the first listener came are no change.
  if (feed.has_initial_state_) { feed.add("execution", api::execution_json(execution, false)); }
}

}  // namespace hapax::api
