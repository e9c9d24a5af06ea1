#include "store/postgres/claim_groups.hpp"

#include "base/limits.hpp"
#include "store/postgres/claim.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

using namespace model;

// The request's queues, by place, that have a due execution which was lost before.
constexpr Statement survey{"hapax_claim_survey", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT u.place::int FROM t, unnest($2::text[], $3::text[]) WITH ORDINALITY u(ns, name, place)
JOIN {s}.queues q ON q.ns = u.ns AND q.name = u.name AND NOT q.paused
WHERE EXISTS (SELECT FROM {s}.live l
              WHERE l.queue_id = q.id AND l.state = 0 AND l.lost > 0
                AND (l.deadline IS NULL OR l.deadline > (SELECT now FROM t))
                AND ((cardinality($4::text[]) = 0 AND l.kind <> 1) OR l.task = ANY ($4::text[])))
ORDER BY u.place)"};

Call survey_call(const ClaimRequest& request, std::int64_t offset_us) {
  Array spaces(Type::text), names(Type::text), tasks(Type::text);
  for (const QueueRef& queue : request.queues) {
    spaces.bytes(queue.ns);
    names.bytes(queue.name);
  }
  for (const std::string& task : request.tasks) { tasks.bytes(task); }
  Params params;
  params.int8(offset_us).array(std::move(spaces)).array(std::move(names)).array(std::move(tasks));
  return {&survey, std::move(params)};
}

class GroupedClaim {
 public:
  GroupedClaim(const ClaimWork& work, const ClaimRequest& request)
      : work_(work), request_(request), idle_(request.idle) {
    for (const QueueRef& queue : request.queues) {
      const bool limited = work.limited.contains(queue);
      if (groups_.empty() || limited || groups_.back().limited) { groups_.push_back({.limited = limited}); }
      groups_.back().queues.push_back(queue);
    }
  }

  ClaimReply run() {
    const bool all_at_once = groups_.size() == 1;
    if (!all_at_once && request_.alone && take_suspect()) {
      reply_.suspects_due = false;
      reply_.next_due.reset();
      return std::move(reply_);
    }
    for (const Group& group : groups_) {
      if (left() <= 0) { break; }
      if (is_heavy()) { break; }
      const bool suspect = all_at_once && request_.alone;
      group.limited ? take_limited(group.queues.front(), suspect, true) : take_plain(group.queues, suspect);
    }
    if (is_heavy()) { reply_.next_due = Duration{0}; }
    const bool is_suspect = !reply_.claims.empty() && reply_.claims.front().lost > 0;
    if (left() <= 0 || is_suspect) { reply_.next_due.reset(); }
    if (request_.alone) { reply_.suspects_due = false; }
    return std::move(reply_);
  }

 private:
  struct Group {
    bool limited = false;
    std::vector<QueueRef> queues;
  };

  // Whether the reply's inputs have reached limits::claim_bytes. The rest is left to the next claim.
  [[nodiscard]] bool is_heavy() const { return bytes_ >= limits::claim_bytes; }
  [[nodiscard]] int left() const { return request_.limit - static_cast<int>(reply_.claims.size()); }

  bool take_suspect() {
    const std::vector<Call> calls{promote_call(request_, work_.offset_us), survey_call(request_, work_.offset_us)};
    const Result places = std::move(work_.connection.pipeline(calls).back());
    for (int row = 0; row < places.rows() && reply_.claims.empty(); ++row) {
      const QueueRef& queue = request_.queues[static_cast<std::size_t>(RowReader(places, row).int4() - 1)];
      work_.limited.contains(queue) ? take_limited(queue, true, false) : take_plain({queue}, true);
    }
    return !reply_.claims.empty() && reply_.claims.front().lost > 0;
  }

  void take_limited(const QueueRef& queue, bool suspect, bool fresh) {
    if (idle_ <= 0) { return; }
    QueueReply given = claim_limited(
        work_, request_, {.queue = queue, .limit = left(), .idle = idle_, .suspect = suspect, .fresh = fresh});
    if (!given.is_limited) {
      work_.limited.remove(queue);
      take_plain({queue}, suspect);
      return;
    }
    idle_ -= static_cast<int>(given.claims.size());
    add({.claims = std::move(given.claims), .suspects_due = given.suspects_due, .next_due = given.next_due});
  }

  void take_plain(const std::vector<QueueRef>& queues, bool suspect) {
    ClaimRequest some = request_;
    some.queues = queues;
    some.limit = left();
    some.alone = suspect;
    const std::vector<Call> calls{promote_call(some, work_.offset_us), claim_call(some, work_.offset_us)};
    const std::vector<Result> results = work_.connection.pipeline(calls, "postgres.exchange.before_commit");
    GroupReply group = read_claims(results.back(), some, work_.connection, work_.queues);
    const bool is_suspect = !group.reply.claims.empty() && group.reply.claims.front().lost > 0;
    add(std::move(group.reply));
    for (const QueueRef& queue : group.limited) {
      work_.limited.add(queue);
      if (!is_suspect && left() > 0 && !is_heavy()) { take_limited(queue, suspect && reply_.claims.empty(), true); }
    }
  }

  void add(ClaimReply some) {
    for (Claim& claim : some.claims) {
      bytes_ += claim.input.size();
      reply_.claims.push_back(std::move(claim));
    }
    reply_.suspects_due = reply_.suspects_due || some.suspects_due;
    if (some.next_due) {
      reply_.next_due = reply_.next_due ? std::min(*reply_.next_due, *some.next_due) : *some.next_due;
    }
  }

  const ClaimWork& work_;
  const ClaimRequest& request_;
  int idle_;
  std::vector<Group> groups_;
  std::size_t bytes_ = 0;  // of inputs
  ClaimReply reply_;
};

}  // namespace

ClaimReply claim_in_groups(const ClaimWork& work, const ClaimRequest& request) {
  return GroupedClaim(work, request).run();
}

}  // namespace hapax::store::postgres
