#include "property/harness.hpp"

#include "base/uuid7.hpp"
#include "model/identity.hpp"

#include <algorithm>
#include <sstream>

namespace hapax::property {

namespace {

constexpr int keys = 3;
constexpr std::size_t most_known = 60;

QueueRef queue(int number) { return {.namespace_name = "default", .name = number == 0 ? "default" : "other"}; }

base::Digest key_hash(int key) {
  return identity_hash(
      {.namespace_name = "default", .scope = Scope::task, .name = "work", .key = "key-" + std::to_string(key)});
}

// The lines that differ between two texts.
std::string differences(const std::string& expected, const std::string& actual) {
  const auto lines = [](const std::string& text) {
    std::vector<std::string> all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) { all.push_back(line); }
    return all;
  };
  const std::vector<std::string> left = lines(expected);
  const std::vector<std::string> right = lines(actual);
  std::string text;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const std::string want = i < left.size() ? left[i] : "";
    const std::string got = i < right.size() ? right[i] : "";
    if (want != got) { text += "the model: " + want + "\nthe store: " + got + "\n"; }
  }
  return text;
}

}  // namespace

Harness::Harness(Store& model, Store& subject, std::shared_ptr<std::atomic<std::int64_t>> offset_us)
    : model_(model),
      subject_(subject),
      model_view_(model.now()),
      subject_view_(subject.now()),
      offset_us_(std::move(offset_us)) {
  // Both queues exist from the start, because stores differ in whether a request that creates no execution creates its
  // queue.
  both("two queues", [](Store& store, const View&) {
    for (const int number : {0, 1}) { store.configure_queue(queue(number), {}); }
    return std::string();
  });
  sessions_.push_back({.id = base::new_uuid7()});
  open_session(Dice(0));
}

void Harness::run(const Operation& operation) {
  const Dice dice(operation.number);
  switch (operation.act) {
    case Act::admit: admit(dice); break;
    case Act::claim: claim(dice); break;
    case Act::finish: finish(dice); break;
    case Act::exchange: exchange(dice); break;
    case Act::open_session: open_session(dice); break;
    case Act::beat: beat(dice); break;
    case Act::close_session: close_session(dice); break;
    case Act::advance: advance(dice); break;
    case Act::sweep: sweep(dice); break;
    case Act::cancel: cancel(dice); break;
    case Act::retry: retry(dice); break;
    case Act::discard: {
      Dice drawn = dice;
      const std::vector<Uuid> ids = draw_ids(drawn, 3);
      both("discard", [&](Store& store, const View&) { return std::to_string(store.discard(ids)); });
      break;
    }
    case Act::annotate: {
      Dice drawn = dice;
      const std::vector<Uuid> ids = draw_ids(drawn, 3);
      both("annotate", [&](Store& store, const View&) { return std::to_string(store.annotate(ids, "seen")); });
      break;
    }
    case Act::configure: configure(dice); break;
    case Act::purge: {
      Dice drawn = dice;
      const QueueRef purged = queue(drawn.roll(2));
      both("purge " + purged.name,
           [&](Store& store, const View&) { return std::to_string(store.purge(purged, 1000)); });
      break;
    }
    case Act::move: move(dice); break;
    case Act::journal: journal(dice); break;
  }
  compare_state();
}

template <class Call>
void Harness::both(const std::string& what, const Call& call) {
  const std::string expected = call(model_, model_view_);
  trace_ += what + "\n" + expected + "\n";
  const std::string actual = call(subject_, subject_view_);
  if (actual != expected) { throw Disagreement(trace_ + "\nThey differ:\n" + differences(expected, actual)); }
}

// ---- Drawing -------------------------------------------------------------------------------------------------------

NewExecution Harness::draw_request(Dice& dice) {
  NewExecution item;
  item.id = base::new_uuid7();
  item.queue = queue(dice.one_in(4) ? 1 : 0);
  item.task = dice.one_in(4) ? "rare" : "work";
  item.input = dice.one_in(6) ? "1" : "0";
  item.priority = dice.roll(3) == 2 ? 7 : 0;
  const int timing = dice.roll(6);
  item.delay = timing == 4 ? Duration(15min) : timing == 5 ? Duration(55min) : Duration(0);
  item.max_lost = 2;
  if (dice.one_in(4)) { item.deadline = 45min; }
  if (dice.roll(2) == 1) {
    const int key = dice.roll(keys);
    item.identity = IdentityClaim{.hash = key_hash(key), .key = "key-" + std::to_string(key)};
    if (!dice.one_in(4)) { item.identity->fingerprint = input_fingerprint(item.input); }
    item.identity->reuse = static_cast<Reuse>(dice.roll(3));
    item.identity->on_conflict = static_cast<OnConflict>(dice.roll(4));
    if (dice.one_in(4)) { item.identity->dedup_window = 75min; }
    if (dice.one_in(3)) { draw_mode(dice, item); }
  }
  if (!item.limit_key && dice.one_in(3)) {
    item.limit_key = LimitKey{.text = "limit-" + std::to_string(dice.roll(2)), .ordered = dice.roll(2) == 1};
  }
  if (dice.one_in(4)) { item.weight = 2; }
  if (dice.one_in(4)) {
    Session& session = draw_session(dice);
    session.claim_number += 1;
    item.born_running = BornRunning{.session = session.id, .claim_number = session.claim_number};
    session.claims.push_back({.id = item.id, .fence = 1});
  }
  known_.push_back(item.id);
  return item;
}

void Harness::draw_mode(Dice& dice, NewExecution& item) {
  IdentityClaim& identity = *item.identity;
  identity.mode = static_cast<IdentityMode>(1 + dice.roll(3));
  if (identity.mode == IdentityMode::throttle) { identity.throttle = 35min; }
  if (identity.mode == IdentityMode::keep_last) {
    item.limit_key = LimitKey{.text = "last " + identity.key, .ordered = true};
  }
}

std::vector<Uuid> Harness::draw_ids(Dice& dice, int most) {
  std::vector<Uuid> ids;
  for (int left = 1 + dice.roll(most); left > 0 && !known_.empty(); --left) {
    const Uuid id = known_[static_cast<std::size_t>(dice.roll(static_cast<int>(known_.size())))];
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) { ids.push_back(id); }
  }
  if (dice.one_in(8)) { ids.push_back(base::new_uuid7()); }
  return ids;
}

Harness::Session& Harness::draw_session(Dice& dice) {
  // Mostly an open session, and the newest most often.
  const int all = static_cast<int>(sessions_.size());
  return sessions_[static_cast<std::size_t>(dice.one_in(12) ? 0 : all - 1 - dice.roll(all - 1))];
}

std::vector<Finish> Harness::draw_finishes(Dice& dice, int most) {
  std::vector<Finish> finishes;
  for (int left = 1 + dice.roll(most); left > 0; --left) {
    const std::vector<Held>& claims = draw_session(dice).claims;
    if (claims.empty()) { continue; }
    const int age = dice.roll(std::min(static_cast<int>(claims.size()), 8));
    const Held& held = claims[claims.size() - 1 - static_cast<std::size_t>(age)];
    if (std::any_of(finishes.begin(), finishes.end(), [&](const Finish& one) { return one.id == held.id; })) {
      continue;
    }
    Finish finish{.id = held.id, .fence = held.fence, .kind = static_cast<FinishKind>(dice.roll(7)), .result = "42"};
    const bool has_error = finish.kind != FinishKind::completed && finish.kind != FinishKind::released;
    if (has_error && dice.roll(2) == 0) { finish.error = ErrorInfo{.type = "Broken", .message = "m", .detail = "d"}; }
    finish.delay = dice.one_in(3) ? Duration(25min) : Duration(0);
    finish.ran_for = dice.one_in(3) ? Duration(5min) : Duration(0);
    finishes.push_back(std::move(finish));
  }
  return finishes;
}

ClaimRequest Harness::draw_claim(Dice& dice) {
  Session& session = draw_session(dice);
  session.claim_number += 1;
  ClaimRequest request{.session = session.id, .claim_number = session.claim_number};
  const int order = dice.roll(3);
  if (order != 2) { request.queues = {queue(order), queue(1 - order)}; }
  if (order == 2) { request.queues = {queue(0)}; }
  if (dice.one_in(5)) { request.tasks = {"rare", "unheard of"}; }
  request.limit = 1 + dice.roll(4);
  request.idle = dice.one_in(4) ? 1 : request.limit;
  request.alone = !dice.one_in(3);
  return request;
}

// ---- Acting --------------------------------------------------------------------------------------------------------

void Harness::admit(Dice dice) {
  std::vector<NewExecution> items;
  for (int left = 1 + dice.roll(3); left > 0 && known_.size() < most_known; --left) {
    items.push_back(draw_request(dice));
  }
  // In a batch that gives a queue its first limit key, a store may treat the queue as limited from the first item on.
  if (std::any_of(items.begin(), items.end(), [](const NewExecution& item) { return item.limit_key.has_value(); })) {
    for (NewExecution& item : items) { item.born_running.reset(); }
  }
  both("admit", [&](Store& store, const View& view) { return view.tell(store.admit(items)); });
}

void Harness::exchange_both(const std::vector<Finish>& finishes, const ClaimRequest* request) {
  std::string what = "exchange";
  for (const Finish& finish : finishes) {
    what += " finish " + tail(finish.id) + " fence " + std::to_string(finish.fence) + " kind " +
            std::to_string(static_cast<int>(finish.kind));
  }
  if (request != nullptr) {
    what +=
        " claim " + std::to_string(request->limit) + (request->alone ? " alone" : "") + " by " + tail(request->session);
  }
  both(what, [&](Store& store, const View& view) {
    Exchange reply = store.exchange(finishes, request);
    if (request != nullptr && &store == &model_) {
      const auto session = std::find_if(sessions_.begin(), sessions_.end(),
                                        [&](const Session& one) { return one.id == request->session; });
      for (const Claim& claim : reply.claim.claims) {
        session->claims.push_back({.id = claim.id, .fence = claim.fence});
      }
    }
    // A store may compute next_due for executions of any task, and leave out limited queues when nothing could start at
    // once.
    const bool exact = request == nullptr || (request->tasks.empty() && request->idle == request->limit);
    if (!exact) { reply.claim.next_due.reset(); }
    return view.tell(reply.verdicts) + view.tell(reply.claim);
  });
}

void Harness::claim(Dice dice) {
  const ClaimRequest request = draw_claim(dice);
  exchange_both({}, &request);
}

void Harness::finish(Dice dice) { exchange_both(draw_finishes(dice, 3), nullptr); }

void Harness::exchange(Dice dice) {
  const std::vector<Finish> finishes = draw_finishes(dice, 2);
  const ClaimRequest request = draw_claim(dice);
  exchange_both(finishes, &request);
}

void Harness::open_session(Dice dice) {
  if (sessions_.size() < 5) { sessions_.push_back({.id = base::new_uuid7()}); }
  const std::size_t at = sessions_.size() < 5 ? sessions_.size() - 1 : 1 + static_cast<std::size_t>(dice.roll(4));
  NewSession session;
  session.id = sessions_[at].id;
  session.worker = "worker-" + std::to_string(at);
  session.lease = 35min;
  both("open session " + tail(session.id), [&](Store& store, const View&) {
    store.open_session(session);
    return std::string();
  });
}

void Harness::beat(Dice dice) {
  const Session& session = draw_session(dice);
  Beat beat{.session = session.id};
  beat.lease = dice.one_in(3) ? Duration(15min) : Duration(0);
  beat.settled_claim_number = session.claim_number - dice.roll(2);
  const auto first = session.claims.end() - std::min<std::ptrdiff_t>(std::ssize(session.claims), 6);
  for (auto held = first; held != session.claims.end(); ++held) {
    const bool is_repeated =
        std::any_of(beat.held.begin(), beat.held.end(), [&](const Held& one) { return one.id == held->id; });
    if (!is_repeated && !dice.one_in(3)) { beat.held.push_back(*held); }
  }
  if (!beat.held.empty()) {
    beat.progress.push_back(
        {.id = beat.held.back().id, .fence = beat.held.back().fence, .fraction = 0.5, .message = "half"});
  }
  both("beat " + tail(session.id), [&](Store& store, const View& view) {
    const BeatReply reply = store.beat(beat);
    std::vector<Uuid> asked = store.cancel_requests(session.id);
    std::sort(asked.begin(), asked.end());
    std::string text = view.tell(reply) + " asked";
    for (const Uuid& id : asked) { text += " " + tail(id); }
    return text;
  });
}

void Harness::close_session(Dice dice) {
  const Uuid id = draw_session(dice).id;
  both("close session " + tail(id), [&](Store& store, const View&) {
    store.close_session(id);
    return std::string();
  });
}

void Harness::advance(Dice dice) {
  static constexpr Duration steps[] = {10min, 20min, 30min, 60min, 150min};
  const Duration step = steps[dice.roll(5)];
  offset_us_->fetch_add(step.count());
  trace_ += "advance " + std::to_string(step.count() / 60'000'000) + "m\n";
}

void Harness::sweep(Dice dice) {
  const SweepRequest request{.limit = 1000, .retention = dice.roll(2) == 1};
  both("sweep", [&](Store& store, const View& view) { return view.tell(store.sweep(request)); });
}

void Harness::cancel(Dice dice) {
  const std::vector<Uuid> ids = draw_ids(dice, 3);
  const std::string reason = dice.roll(2) == 0 ? "" : "changed my mind";
  both("cancel", [&](Store& store, const View& view) { return view.tell(store.cancel(ids, reason)); });
}

void Harness::retry(Dice dice) {
  std::vector<RetryRequest> requests;
  for (const Uuid& id : draw_ids(dice, 2)) {
    if (known_.size() >= most_known) { return; }
    requests.push_back({.id = id, .new_id = base::new_uuid7(), .new_effect_key = dice.one_in(3)});
    known_.push_back(requests.back().new_id);
  }
  both("retry", [&](Store& store, const View& view) { return view.tell(store.retry(requests)); });
}

void Harness::configure(Dice dice) {
  const QueueRef which = queue(dice.roll(2));
  QueuePatch patch;
  // Multiples of this period never fall near multiples of the clock's steps.
  const auto rate = [&dice](std::int64_t burst) {
    return dice.roll(2) == 0 ? std::optional(RateLimit{.count = 2, .per = 47min, .burst = burst}) : std::nullopt;
  };
  const auto number = [&dice] { return dice.roll(3) == 0 ? std::nullopt : std::optional(1 + dice.roll(2)); };
  switch (dice.roll(13)) {
    case 0: patch.paused = true; break;
    case 1: patch.paused = false; break;
    case 2: patch.draining = true; break;
    case 3: patch.draining = false; break;
    case 4: patch.retention = dice.roll(2) == 0 ? 125min : 35min; break;
    case 5: patch.failed_retention = dice.roll(2) == 0 ? std::optional<Duration>(65min) : std::nullopt; break;
    case 6: patch.retention = dice.roll(2) == 0 ? std::optional<Duration>(Duration{0}) : std::nullopt; break;
    case 7: patch.dedup_window = dice.roll(2) == 0 ? std::optional<Duration>(95min) : std::nullopt; break;
    case 8: patch.rate = rate(1); break;
    case 9: patch.key_rate = rate(0); break;
    case 10: patch.concurrency = number(); break;
    case 11: patch.worker_concurrency = number(); break;
    case 12: patch.key_concurrency = number(); break;
    default: break;
  }
  both("configure " + which.name, [&](Store& store, const View&) {
    store.configure_queue(which, patch);
    return std::string();
  });
}

void Harness::move(Dice dice) {
  const QueueRef from = queue(dice.roll(2));
  const QueueRef to = queue(dice.roll(2));
  both("move " + from.name + " to " + to.name,
       [&](Store& store, const View&) { return std::to_string(store.move(from, to, 1000)); });
}

void Harness::journal(Dice dice) {
  std::vector<JournalEntry> entries;
  for (const Finish& drawn : draw_finishes(dice, 2)) {
    entries.push_back(
        {.execution = drawn.id, .fence = drawn.fence, .position = dice.roll(3), .name = "step", .data = "1"});
  }
  both("journal", [&](Store& store, const View& view) { return view.tell(store.journal_append(entries)); });
}

// ---- Comparing -----------------------------------------------------------------------------------------------------

void Harness::compare_state() {
  both("state", [&](Store& store, const View& view) {
    std::string text = view.tell(store.list({.limit = 1000})) + view.tell(store.queues("default"));
    std::vector<SessionInfo> sessions = store.sessions();
    std::sort(sessions.begin(), sessions.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    text += view.tell(sessions);
    for (int key = 0; key < keys; ++key) {
      const std::optional<Uuid> holder = store.holder(key_hash(key));
      text += "key-" + std::to_string(key) + " " + (holder ? tail(*holder) : "-") + "\n";
    }
    return text;
  });
}

void Harness::compare_everything() {
  both("everything", [&](Store& store, const View& view) {
    std::string text;
    const std::vector<std::optional<Outcome>> outcomes = store.outcomes(known_);
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const std::optional<Execution> execution = store.get(known_[i]);
      text += execution ? view.tell(*execution) : tail(known_[i]) + " -";
      text += outcomes[i] ? " " + std::string(to_string(outcomes[i]->status)) : " -";
      text += "\n" + view.tell(store.attempts(known_[i])) + view.tell(store.journal_read(known_[i]));
    }
    return text;
  });
}

}  // namespace hapax::property
