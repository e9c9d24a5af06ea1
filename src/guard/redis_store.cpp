#include "guard/redis_store.hpp"

#include "base/text.hpp"
#include "base/uuid7.hpp"
#include "guard/redis_scripts.hpp"
#include "guard/redis_url.hpp"
#include "guard/rule.hpp"
#include "model/identity.hpp"

#include <algorithm>
#include <cstring>

namespace hapax::guard {

namespace {

constexpr std::size_t beats_at_once = 500;
constexpr std::size_t tidied_at_once = 200;
// A longer ttl counts as none: Lua could not represent the time exactly in microseconds.
constexpr Duration longest_ttl = std::chrono::days(365 * 200);

std::string hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text(bytes.size() * 2, '\0');
  char* at = text.data();
  for (const char byte : bytes) {
    *at++ = digits[static_cast<unsigned char>(byte) >> 4];
    *at++ = digits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

template <class Bytes>
std::string hex_of(const Bytes& bytes) {
  return hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::optional<std::string> unhex(std::string_view text) {
  if (text.size() % 2 != 0) { return std::nullopt; }
  const auto value = [](char letter) {
    return letter >= '0' && letter <= '9' ? letter - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
  };
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = value(text[i]);
    const int low = value(text[i + 1]);
    if (high < 0 || low < 0) { return std::nullopt; }
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::string micros(const std::optional<Duration>& duration) {
  return duration ? std::to_string(duration->count()) : "";
}

std::string ttl_of(const GuardFinish& finish) {
  return finish.ttl && *finish.ttl < longest_ttl ? std::to_string(std::max<Duration::rep>(0, finish.ttl->count())) : "";
}

// Names and keys have no control characters, so a zero byte separates them.
std::string member_of(const GuardKey& key) { return key.namespace_name + '\0' + key.name + '\0' + key.key; }

std::optional<GuardKey> key_of(std::string_view member) {
  const std::size_t first = member.find('\0');
  const std::size_t second = first == std::string_view::npos ? first : member.find('\0', first + 1);
  if (second == std::string_view::npos) { return std::nullopt; }
  return GuardKey{.namespace_name = std::string(member.substr(0, first)),
                  .name = std::string(member.substr(first + 1, second - first - 1)),
                  .key = std::string(member.substr(second + 1))};
}

Time time_of(const RedisReply& reply) { return Time(Duration(reply.integer())); }

std::optional<Time> optional_time(const RedisReply& reply) {
  return reply.text.empty() ? std::nullopt : std::optional(time_of(reply));
}

// Reads the fields in the order of redis_scripts.hpp, from `first` on.
GuardRecord record_of(const RedisReply& reply, std::size_t first) {
  GuardRecord record;
  record.status = static_cast<GuardStatus>(reply.at(first).integer());
  record.fence = reply.at(first + 1).integer();
  record.heartbeat = time_of(reply.at(first + 2));
  if (!reply.at(first + 3).text.empty()) { record.takeover_after = Duration(reply.at(first + 3).integer()); }
  if (const auto bytes = unhex(reply.at(first + 4).text); bytes && bytes->size() == GuardFingerprint{}.size()) {
    GuardFingerprint fingerprint{};
    std::memcpy(fingerprint.data(), bytes->data(), fingerprint.size());
    record.fingerprint = fingerprint;
  }
  record.started_at = time_of(reply.at(first + 5));
  record.completed_at = optional_time(reply.at(first + 6));
  if (record.status == GuardStatus::completed) { record.result = reply.at(first + 7).text; }
  if (record.status == GuardStatus::failed) {
    record.error = GuardError{.type = reply.at(first + 8).text, .message = reply.at(first + 9).text};
  }
  record.expires_at = optional_time(reply.at(first + 10));
  record.owner = reply.at(first + 11).text;
  return record;
}

int end_of(GuardEnd end) {
  switch (end) {
    case GuardEnd::completed: return 1;
    case GuardEnd::failed: return 2;
    case GuardEnd::unlocked: return 3;
  }
  return 3;
}

}  // namespace

RedisGuardStore::RedisGuardStore(RedisPlace place, std::shared_ptr<const std::atomic<std::int64_t>> clock_offset_us)
    : pool_(std::move(place)), index_(pool_.place().prefix + "index"), clock_offset_us_(std::move(clock_offset_us)) {
  // Reports a wrong address or password now rather than at the first call.
  (void)pool_.ask({"PING"});
}

std::string RedisGuardStore::record_key(const GuardKey& key) const {
  return pool_.place().prefix + hex_of(model::guard_identity_hash(key.namespace_name, key.name, key.key));
}

std::vector<RedisReply> RedisGuardStore::run(std::vector<RedisCall> calls) {
  const std::string offset = clock_offset_us_ ? std::to_string(clock_offset_us_->load()) : "0";
  for (RedisCall& call : calls) { call.arguments.push_back(offset); }
  return pool_.run(calls);
}

RedisReply RedisGuardStore::run(RedisCall call) {
  return std::move(run(std::vector<RedisCall>{std::move(call)}).front());
}

std::string RedisGuardStore::void_key(const std::string& token) const { return pool_.place().prefix + "void:" + token; }

void RedisGuardStore::settle_doubts() {
  if (!chores_.has_doubts()) { return; }
  std::vector<RedisChores::Doubt> doubts = chores_.take_doubts();
  std::vector<RedisCall> calls;
  for (const RedisChores::Doubt& doubt : doubts) {
    calls.push_back({.script = &redis::take_back(),
                     .keys = {doubt.record, index_, void_key(doubt.token)},
                     .arguments = {doubt.member, doubt.token}});
  }
  try {
    if (!calls.empty()) { (void)run(std::move(calls)); }
  } catch (...) {
    chores_.add(std::move(doubts));
    throw;
  }
}

RedisReply RedisGuardStore::ask_to_begin(const GuardBegin& request, const std::string& token) {
  RedisCall call{.script = &redis::begin(),
                 .keys = {record_key(request.key), index_, void_key(token)},
                 .arguments = {member_of(request.key), request.key.namespace_name, request.key.name, request.key.key,
                               token, request.fingerprint ? hex_of(*request.fingerprint) : "",
                               micros(request.takeover_after), request.owner}};
  RedisChores::Doubt doubt{.record = call.keys[0], .member = call.arguments[0], .token = token};
  try {
    return run(std::move(call));
  } catch (const CommitUnknown&) {
    chores_.add({std::move(doubt)});
    throw;
  }
}

GuardAnswer RedisGuardStore::begin(const GuardBegin& request) {
  settle_doubts();
  const std::string token = base::new_uuid7().to_string();
  const RedisReply reply = ask_to_begin(request, token);
  GuardAnswer answer;
  answer.begun = static_cast<GuardBegun>(reply.at(0).integer());
  if (answer.begun == GuardBegun::started) {
    answer.hold = {
        .key = request.key, .fence = reply.at(1).integer(), .token = token, .takeover_after = request.takeover_after};
    answer.taken_over = reply.at(2).integer() != 0;
    answer.now = time_of(reply.at(3));
    return answer;
  }
  answer.now = time_of(reply.at(1));
  answer.record = record_of(reply, 2);
  if (answer.begun == GuardBegun::in_progress) {
    answer.takeover_in = takeover_in(answer.record, answer.now - answer.record.heartbeat);
  }
  return answer;
}

std::vector<std::size_t> RedisGuardStore::beat(std::span<const GuardHold> held) {
  std::vector<std::size_t> lost;
  for (std::size_t first = 0; first < held.size(); first += beats_at_once) {
    const std::size_t last = std::min(first + beats_at_once, held.size());
    std::vector<RedisCall> calls;
    for (std::size_t i = first; i < last; ++i) {
      calls.push_back({.script = &redis::beat(),
                       .keys = {record_key(held[i].key)},
                       .arguments = {held[i].token, std::to_string(held[i].fence)}});
    }
    const std::vector<RedisReply> replies = run(std::move(calls));
    for (std::size_t i = first; i < last; ++i) {
      if (replies[i - first].integer() == 0) { lost.push_back(i); }
    }
  }
  try {
    settle_doubts();
  } catch (const StoreUnavailable&) {
    // The holds have been renewed; the doubts stay for the next verb.
    return lost;
  }
  return lost;
}

GuardVerdict RedisGuardStore::finish(const GuardHold& hold, const GuardFinish& finish) {
  const GuardError error = finish.error.value_or(GuardError{});
  const RedisReply reply = run(RedisCall{
      .script = &redis::finish(),
      .keys = {record_key(hold.key), index_},
      .arguments = {member_of(hold.key), hold.token, std::to_string(hold.fence), std::to_string(end_of(finish.end)),
                    finish.end == GuardEnd::completed ? finish.result : "",
                    finish.end == GuardEnd::failed ? error.type : "",
                    finish.end == GuardEnd::failed ? error.message : "", ttl_of(finish)}});
  return reply.integer() == 0 ? GuardVerdict::accepted : GuardVerdict::stale;
}

std::optional<GuardRecord> RedisGuardStore::read(const GuardKey& key) {
  const RedisReply reply = run(RedisCall{.script = &redis::read(), .keys = {record_key(key)}, .arguments = {}});
  if (reply.kind != RedisReply::Kind::list) { return std::nullopt; }
  GuardRecord record = record_of(reply, 1);
  record.key = key;
  return record;
}

// Sorted by namespace, name and key. Reads one page of the index, then each record on it.
GuardPage RedisGuardStore::list(const GuardQuery& query) {
  check_query(query);
  std::string lowest = query.namespace_name + '\0';
  if (query.name) { lowest += *query.name + '\0' + query.key_prefix; }
  std::string from = "[" + lowest;
  if (!query.after.empty()) {
    const std::optional<std::string> after = unhex(query.after);
    if (!after) { throw InvalidArgument("after", base::quoted(query.after) + " is not a cursor of this store"); }
    from = "(" + *after;
  }
  // 0xFF is in no UTF-8 text, so it sorts after every continuation of `lowest`.
  const std::string to = "(" + lowest + '\xFF';
  const std::string limit = std::to_string(query.limit);
  const RedisReply members = pool_.ask({"ZRANGEBYLEX", index_, from, to, "LIMIT", "0", limit});
  std::vector<GuardKey> keys;
  std::vector<RedisCall> calls;
  for (const RedisReply& member : members.list) {
    const std::optional<GuardKey> key = key_of(member.text);
    if (!key || !key->key.starts_with(query.key_prefix)) { continue; }
    keys.push_back(*key);
    calls.push_back({.script = &redis::read(), .keys = {record_key(*key)}, .arguments = {}});
  }
  GuardPage page;
  const std::vector<RedisReply> replies = calls.empty() ? std::vector<RedisReply>{} : run(std::move(calls));
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (replies[i].kind != RedisReply::Kind::list) { continue; }
    GuardRecord record = record_of(replies[i], 1);
    record.key = keys[i];
    if (matches(query, record.key, record.status)) { page.records.push_back(std::move(record)); }
  }
  if (std::ssize(members.list) == query.limit) { page.next = hex(members.list.back().text); }
  return page;
}

GuardForgotten RedisGuardStore::forget(const GuardKey& key, bool even_in_progress) {
  const RedisReply reply = run(RedisCall{.script = &redis::forget(),
                                         .keys = {record_key(key), index_},
                                         .arguments = {member_of(key), even_in_progress ? "1" : "0"}});
  return static_cast<GuardForgotten>(reply.integer());
}

// The server removes expired records by itself; sweep removes their entries from the index.
std::size_t RedisGuardStore::sweep(std::size_t limit) {
  settle_doubts();
  const std::string before = chores_.swept_to();
  const std::string from = before.empty() ? "-" : "(" + before;
  const std::string most = std::to_string(std::min(limit, tidied_at_once));
  const RedisReply members = pool_.ask({"ZRANGEBYLEX", index_, from, "+", "LIMIT", "0", most});
  if (members.list.empty()) {
    chores_.swept_to({});
    return 0;
  }
  RedisCall call{.script = &redis::tidy(), .keys = {index_}, .arguments = {}};
  for (const RedisReply& member : members.list) {
    call.keys.push_back(record_key(key_of(member.text).value_or(GuardKey{})));
    call.arguments.push_back(member.text);
  }
  chores_.swept_to(members.list.back().text);
  return static_cast<std::size_t>(run(std::move(call)).integer());
}

GuardStoreInfo RedisGuardStore::info() const {
  return {.backend = "redis", .location = pool_.place().shown, .shared = true, .durable = false};
}

}  // namespace hapax::guard

namespace hapax {

GuardStorePtr redis_guard_store(const std::string& url) {
  return std::make_shared<guard::RedisGuardStore>(guard::parse_redis_url(url));
}

}  // namespace hapax
