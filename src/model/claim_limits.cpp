#include "model/claim_limits.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace hapax::model {

namespace {

// How many executions the concurrency limits let the claim start; 0, not negative, when more are running than a limit
// allows.
std::int64_t free_places(const QueueLimits& limits, const QueueLoad& load, int idle) {
  std::int64_t room = idle;
  if (limits.concurrency) { room = std::min<std::int64_t>(room, *limits.concurrency - load.running); }
  if (limits.worker_concurrency) {
    room = std::min<std::int64_t>(room, *limits.worker_concurrency - load.running_here);
  }
  return std::max<std::int64_t>(room, 0);
}

nlohmann::json rate_json(const RateLimit& limit) {
  return {{"count", limit.count}, {"per_us", limit.per.count()}, {"burst", limit.burst}};
}

std::optional<RateLimit> rate_in(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) { return std::nullopt; }
  return RateLimit{.count = found->at("count").get<std::int64_t>(),
                   .per = Duration(found->at("per_us").get<std::int64_t>()),
                   .burst = found->at("burst").get<std::int64_t>()};
}

std::optional<int> number_in(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? std::nullopt : std::optional(found->get<int>());
}

}  // namespace

ClaimLimits::ClaimLimits(const QueueLimits& limits, const QueueLoad& load, int idle, Time now)
    : limits_(limits), now_(now), room_(free_places(limits, load, idle)) {
  if (limits.rate) {
    rate_.emplace(*limits.rate, load.arrival, now);
    if (room_ > 0 && !rate_->allows(1)) { wait_ = rate_->wait(1); }
  }
}

ClaimLimits::Step ClaimLimits::offer(int weight, const Keyed* key) {
  if (room_ <= 0) { return Step::stop; }
  if (key != nullptr) {
    const bool in_turn = !key->ordered || key->first;
    const bool has_room = key->load->running < key_limit(limits_, key->ordered);
    if (!in_turn || !has_room || key_wait(limits_, *key->load, weight, now_)) { return Step::park; }
  }
  if (rate_ && !rate_->allows(weight)) {
    wait_ = rate_->wait(weight);
    return Step::stop;
  }
  std::optional<RateMeter> key_rate;
  if (key != nullptr && limits_.key_rate) {
    key_rate.emplace(*limits_.key_rate, key->load->arrival, now_);
    key_rate->start(weight);
    key->load->arrival = key_rate->arrival();
  }
  if (rate_) { rate_->start(weight); }
  if (key != nullptr) { key->load->running += 1; }
  room_ -= 1;
  started_ = true;
  return Step::start;
}

std::optional<Time> ClaimLimits::arrival() const {
  return rate_ && started_ ? std::optional(rate_->arrival()) : std::nullopt;
}

int heaviest_start(const QueueLimits& limits, const KeyLoad& key, Time now) {
  if (!limits.key_rate) { return std::numeric_limits<int>::max(); }
  return RateMeter(*limits.key_rate, key.arrival, now).heaviest();
}

std::optional<Duration> key_wait(const QueueLimits& limits, const KeyLoad& key, int weight, Time now) {
  if (!limits.key_rate) { return std::nullopt; }
  const Duration wait = RateMeter(*limits.key_rate, key.arrival, now).wait(weight);
  return wait > Duration{0} ? std::optional(wait) : std::nullopt;
}

std::string encode_limits(const QueueLimits& limits) {
  if (limits == QueueLimits{}) { return {}; }
  nlohmann::json object = nlohmann::json::object();
  if (limits.rate) { object["rate"] = rate_json(*limits.rate); }
  if (limits.key_rate) { object["key_rate"] = rate_json(*limits.key_rate); }
  if (limits.concurrency) { object["concurrency"] = *limits.concurrency; }
  if (limits.worker_concurrency) { object["worker_concurrency"] = *limits.worker_concurrency; }
  if (limits.key_concurrency) { object["key_concurrency"] = *limits.key_concurrency; }
  return object.dump();
}

QueueLimits decode_limits(std::string_view text) {
  QueueLimits limits;
  if (text.empty()) { return limits; }
  const nlohmann::json object = nlohmann::json::parse(text);
  limits.rate = rate_in(object, "rate");
  limits.key_rate = rate_in(object, "key_rate");
  limits.concurrency = number_in(object, "concurrency");
  limits.worker_concurrency = number_in(object, "worker_concurrency");
  limits.key_concurrency = number_in(object, "key_concurrency");
  return limits;
}

std::string encode_limit_key(const LimitKey& key) { return (key.ordered ? "o:" : "c:") + key.text; }

LimitKey decode_limit_key(std::string_view text) {
  return {.text = std::string(text.substr(2)), .ordered = text.starts_with("o:")};
}

}  // namespace hapax::model
