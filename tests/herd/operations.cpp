#include "herd/operations.hpp"

#include "herd/stage.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <stdexcept>

namespace hapax::herd {
namespace {

using torture::Event;

// A call and its answer, if one came.
struct Call {
  int child = 0;
  std::vector<std::string> words;
  std::vector<std::string> answer;
  std::int64_t begun = 0;
  std::int64_t ended = never;

  [[nodiscard]] const std::string& act() const { return words.at(0); }
  [[nodiscard]] bool answered() const { return !answer.empty() && answer[0] != "unknown"; }
  // The call threw and changed nothing.
  [[nodiscard]] bool void_() const { return !answer.empty() && answer[0] == "nothing"; }
};

constexpr std::array verdicts_of_admission = {"created",          "deduplicated", "already_exists", "already_completed",
                                              "already_finished", "mismatch",     "queue_draining"};

template <class Enum>
Enum code(const std::string& word) {
  return static_cast<Enum>(std::stoi(word));
}

struct Calls {
  std::vector<Call> calls;  // in the order of their beginnings
  std::vector<std::pair<Uuid, int>> sessions;
};

Calls read_calls(const std::string& folder) {
  Calls all;
  std::map<std::pair<int, std::int64_t>, Call> open;
  for (const auto& record : torture::read_logs(folder)) {
    if (record.event != Event::note) continue;
    const auto& words = record.words;
    if (words.at(0) == "s") {
      all.sessions.emplace_back(Uuid::parse(words.at(1)).value(), record.child);
      continue;
    }
    Call& call = open[{record.child, std::stoll(words.at(1))}];
    const std::vector<std::string> rest(words.begin() + 3, words.end());
    if (words[0] == "b") {
      call.child = record.child;
      call.begun = std::stoll(words[2]);
      call.words = rest;
    } else {
      call.answer = rest;
      if (rest.at(0) != "unknown") call.ended = std::stoll(words[2]);
    }
  }
  for (auto& [number, call] : open) all.calls.push_back(std::move(call));
  std::ranges::sort(all.calls, {}, &Call::begun);
  return all;
}

class Reader {
 public:
  explicit Reader(const std::string& folder) : all_(read_calls(folder)) {}

  History read() {
    find_keys();
    for (const auto& call : all_.calls) {
      if (!call.void_()) take(call);
      ++history_.counts[call.void_() ? "refused by an absent store" : !call.answered() ? "unanswered" : "answered"];
    }
    add_releases();
    return std::move(history_);
  }

 private:
  static Uuid uuid(const std::string& word) { return Uuid::parse(word).value(); }

  void find_keys() {
    for (const auto& call : all_.calls) {
      if (call.act() == "admit") history_.key_of[uuid(call.words.at(2))] = std::stoi(call.words.at(1));
      if (call.act() != "retry") continue;
      if (const auto key = history_.key_of.find(uuid(call.words.at(1))); key != history_.key_of.end()) {
        history_.key_of[uuid(call.words.at(2))] = key->second;
      }
    }
  }

  // The name of an execution within its key. Returns 0 and records a stranger if the execution is not of this key.
  Name name(int key, const std::string& word, const Call& call) {
    const Uuid id = uuid(word);
    const auto found = history_.key_of.find(id);
    if (found == history_.key_of.end() || found->second != key) {
      history_.strangers.push_back(call.act() + " of key " + std::to_string(key) + " was answered with " + word +
                                   (found == history_.key_of.end()
                                        ? ", which nobody asked for"
                                        : ", which is of key " + std::to_string(found->second)));
      return 0;
    }
    auto& names = names_[key];
    const auto given = names.emplace(id, static_cast<Name>(names.size() + 1)).first->second;
    if (given == 0) throw std::runtime_error("more executions of one key than the checker can name");
    return given;
  }

  void add(int key, const Operation& one) { history_.keys[key].push_back(one); }
  void count(const std::string& what) { ++history_.counts[what]; }

  int session(const std::string& word) {
    return session_numbers_.emplace(uuid(word), static_cast<int>(session_numbers_.size()) + 1).first->second;
  }

  static Operation start(const Call& call, Act act) {
    Operation one;
    one.act = act;
    one.begun = call.begun;
    one.ended = call.ended;
    one.answered = call.answered();
    return one;
  }

  void take(const Call& call) {
    if (call.act() == "admit") return take_admission(call);
    if (call.act() == "claim") return take_claim(call);
    if (call.act() == "close") return take_close(call);
    if (call.act() == "holder") return take_holder(call);
    take_act(call);
  }

  void take_admission(const Call& call) {
    const int key = std::stoi(call.words.at(1));
    Operation one = start(call, Act::admit);
    one.subject = name(key, call.words.at(2), call);
    one.on_conflict = code<OnConflict>(call.words.at(3));
    one.reuse = code<Reuse>(call.words.at(4));
    one.input = std::stoi(call.words.at(5));
    if (one.answered) {
      one.admission = code<model::AdmissionVerdict>(call.answer.at(0));
      one.answer = name(key, call.answer.at(1), call);
      one.status = code<Status>(call.answer.at(2));
      one.run = std::stoi(call.answer.at(3));
      one.result = std::stoll(call.answer.at(4));
      if (one.admission == model::AdmissionVerdict::created) history_.created.push_back(uuid(call.answer[1]));
      count(std::string("admit ") + verdicts_of_admission.at(static_cast<std::size_t>(one.admission)));
    }
    add(key, one);
  }

  void take_claim(const Call& call) {
    Operation one = start(call, Act::claim);
    one.session = session(call.words.at(1));
    if (!one.answered) {
      history_.lost_claims.push_back({.claim = one, .releases = {}});
      return;
    }
    for (std::size_t index = 1; index + 1 < call.answer.size(); index += 2) {
      const auto key = history_.key_of.find(uuid(call.answer[index]));
      if (key == history_.key_of.end()) {
        history_.strangers.push_back("claimed " + call.answer[index] + ", which nobody asked for");
        continue;
      }
      one.subject = name(key->second, call.answer[index], call);
      one.fence = std::stoll(call.answer[index + 1]);
      add(key->second, one);
      claimed_by_[one.session].insert(key->second);
      count("claim");
    }
  }

  void take_close(const Call& call) {
    Operation one = start(call, Act::release);
    one.session = session(call.words.at(1));
    closes_.push_back(one);
  }

  void take_holder(const Call& call) {
    if (!call.answered()) return;
    const int key = std::stoi(call.words.at(1));
    Operation one = start(call, Act::holder);
    one.answer = call.answer.at(0) == "-" ? Name{0} : name(key, call.answer[0], call);
    add(key, one);
    count("holder");
  }

  // Reads a call that names an execution.
  void take_act(const Call& call) {
    const int key = history_.key_of.at(uuid(call.words.at(1)));
    Operation one = start(call, Act::get);
    one.subject = name(key, call.words[1], call);
    if (call.act() == "finish") {
      one.act = Act::finish;
      one.fence = std::stoll(call.words.at(2));
      one.kind = code<model::FinishKind>(call.words.at(3));
      one.result = std::stoll(call.words.at(4));
      if (one.answered) one.finish = code<model::FinishVerdict>(call.answer.at(0));
      if (one.answered) count(one.finish == model::FinishVerdict::stale ? "finish stale" : "finish accepted");
    } else if (call.act() == "cancel") {
      one.act = Act::cancel;
      if (one.answered) one.cancel = code<model::CancelVerdict>(call.answer.at(0));
      if (one.answered) one.status = code<Status>(call.answer.at(1));
      count("cancel");
    } else if (call.act() == "retry") {
      one.act = Act::retry;
      one.created = name(key, call.words.at(2), call);
      if (one.answered) take_retry_answer(key, call, one);
    } else {
      if (!one.answered) return;
      if (call.answer.at(0) == "-") {
        history_.strangers.push_back("an execution that was answered before is not there: " + call.words[1]);
        return;
      }
      one.status = code<Status>(call.answer[0]);
      count("get");
    }
    add(key, one);
  }

  void take_retry_answer(int key, const Call& call, Operation& one) {
    one.retry = code<model::RetryVerdict>(call.answer.at(0));
    one.run = std::stoi(call.answer.at(2));
    using enum model::RetryVerdict;
    const bool names_one = one.retry == created || one.retry == already_retried || one.retry == identity_held;
    if (names_one) one.answer = name(key, call.answer.at(1), call);
    if (one.retry == created) history_.created.push_back(uuid(call.answer[1]));
    count(one.retry == created ? "retry created" : "retry answered otherwise");
  }

  void add_releases() {
    for (const auto& close : closes_) {
      for (const int key : claimed_by_[close.session]) add(key, close);
      for (auto& lost : history_.lost_claims) {
        if (lost.claim.session != close.session) continue;
        lost.releases.push_back(close);
        if (close.answered) lost.claim.ended = std::min(lost.claim.ended, close.ended);
      }
    }
    for (const auto& [id, child] : all_.sessions) {
      const int number = session(id.to_string());
      const bool closed =
          std::ranges::any_of(closes_, [&](const Operation& one) { return one.answered && one.session == number; });
      if (!closed) history_.open_sessions.emplace_back(id, child);
    }
  }

  Calls all_;
  History history_;
  std::map<int, std::map<Uuid, Name>> names_;
  std::map<Uuid, int> session_numbers_;
  std::map<int, std::set<int>> claimed_by_;
  std::vector<Operation> closes_;
};

}  // namespace

void Scribe::write(const std::string& lead, std::int64_t number, const std::vector<std::string>& words) {
  std::string text = lead + " " + std::to_string(number) + " " + std::to_string(ticks());
  for (const auto& word : words) text += " " + word;
  log_.write(Event::note, text);
}

std::int64_t Scribe::begin(const std::vector<std::string>& words) {
  const std::int64_t number = next_.fetch_add(1);
  write("b", number, words);
  return number;
}

void Scribe::answer(std::int64_t number, const std::vector<std::string>& words) { write("a", number, words); }

void Scribe::session(const Uuid& id) { log_.write(Event::note, "s", id); }

History read_history(const std::string& folder) { return Reader(folder).read(); }

std::string describe(const std::vector<Operation>& operations) {
  constexpr std::array acts = {"admit", "claim", "finish", "cancel", "retry", "holder", "get", "release"};
  std::vector<Operation> sorted = operations;
  std::ranges::sort(sorted, {}, &Operation::begun);
  std::ostringstream text;
  for (const auto& one : sorted) {
    const std::int64_t first = sorted.front().begun;
    text << "    " << (one.begun - first) / 1000 << ".."
         << (one.ended == never ? "?" : std::to_string((one.ended - first) / 1000)) << " us "
         << acts.at(static_cast<std::size_t>(one.act)) << (one.answered ? "" : " (unanswered)") << " of "
         << int{one.subject};
    switch (one.act) {
      case Act::admit:
        text << " conflict " << static_cast<int>(one.on_conflict) << " reuse " << static_cast<int>(one.reuse)
             << " input " << one.input << ": " << verdicts_of_admission.at(static_cast<std::size_t>(one.admission))
             << " " << int{one.answer} << " " << to_string(one.status) << " run " << one.run << " result "
             << one.result;
        break;
      case Act::claim: text << " fence " << one.fence << " session " << one.session; break;
      case Act::finish:
        text << " fence " << one.fence << " kind " << static_cast<int>(one.kind) << " result " << one.result << ": "
             << (one.finish == model::FinishVerdict::accepted ? "accepted" : "stale");
        break;
      case Act::cancel: text << ": " << static_cast<int>(one.cancel) << " " << to_string(one.status); break;
      case Act::retry:
        text << " as " << int{one.created} << ": " << static_cast<int>(one.retry) << " " << int{one.answer} << " run "
             << one.run;
        break;
      case Act::holder: text << ": " << int{one.answer}; break;
      case Act::get: text << ": " << to_string(one.status); break;
      case Act::release: text << " session " << one.session; break;
    }
    text << "\n";
  }
  return text.str();
}

}  // namespace hapax::herd
