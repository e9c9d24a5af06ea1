#include <hapax/context.hpp>

#include <hapax/app.hpp>

#include "app/app_state.hpp"
#include "base/json.hpp"
#include "base/payload_limit.hpp"
#include "model/effect_key.hpp"
#include "model/validate.hpp"

#include <algorithm>

namespace hapax {

namespace {
// Persisted as the kind of a journal entry; workflows use other kinds.
constexpr std::uint8_t journal_once = 1;
}  // namespace

const Uuid& TaskContext::execution_id() const { return state_.run().claim().id; }
const std::string& TaskContext::task() const { return state_.run().claim().task; }
const std::string& TaskContext::queue() const { return state_.run().claim().queue.name; }
int TaskContext::attempt() const { return state_.run().claim().attempt; }
int TaskContext::max_attempts() const { return state_.run().claim().max_attempts; }
int TaskContext::run() const { return state_.run().claim().run; }
std::int64_t TaskContext::fence() const { return state_.run().claim().fence; }
const std::string& TaskContext::effect_key() const { return state_.effect_key(); }
std::optional<Time> TaskContext::deadline() const { return state_.run().claim().deadline; }
const std::vector<std::string>& TaskContext::tags() const { return state_.run().claim().labels.tags; }
const std::string& TaskContext::traceparent() const { return state_.run().traceparent(); }
const std::string& TaskContext::tracestate() const { return state_.run().tracestate(); }

nlohmann::json TaskContext::metadata() const {
  const std::string& text = state_.run().claim().labels.metadata;
  return text.empty() ? nlohmann::json() : nlohmann::json::parse(text);
}

bool TaskContext::cancelled() const { return state_.run().should_stop(); }
std::stop_token TaskContext::stop_token() const { return state_.run().stop_token(); }
bool TaskContext::draining() const { return state_.run().draining(); }
void TaskContext::progress(double fraction, std::string_view message) { state_.run().progress(fraction, message); }
App TaskContext::app() const { return App(state_.app()); }

std::optional<std::string> TaskContext::recorded(std::string_view name) { return state_.recorded(name); }
void TaskContext::record(std::string_view name, std::string json) { state_.record(name, std::move(json)); }

void TaskContext::complete_json_in(Transaction& tx, std::string result_json) {
  if (result_json.size() > base::payload_limit()) {
    throw PayloadTooLarge("result", result_json.size(), base::payload_limit());
  }
  base::check_json(result_json, "result");
  const engine::Run& run = state_.run();
  model::Finish finish;
  finish.id = run.claim().id;
  finish.fence = run.claim().fence;
  finish.result = result_json;
  finish.ran_for = engine::engine_now() - run.started();
  tx.state_->transaction->finish(finish);
  auto completion = std::make_shared<detail::Completion>();
  completion->result = std::move(result_json);
  tx.state_->completions.push_back(completion);
  state_.completion = std::move(completion);
}

namespace detail {

const std::string& ContextState::effect_key() {
  std::call_once(effect_key_made_, [this] { effect_key_ = model::effect_key(run_.claim()); });
  return effect_key_;
}

void ContextState::load() {
  if (loaded_) { return; }
  // The first claim of an execution skips the read: its journal is empty.
  if (run_.claim().fence > 1) { entries_ = app_->store().journal_read(run_.claim().id); }
  loaded_ = true;
}

std::optional<std::string> ContextState::recorded(std::string_view name) {
  app_->forbid_in_transaction("ctx.once");
  model::check_name(name, "once");
  load();
  const auto found = std::ranges::find_if(
      entries_, [&](const model::JournalEntry& entry) { return entry.kind == journal_once && entry.name == name; });
  return found == entries_.end() ? std::nullopt : std::optional(found->data);
}

void ContextState::record(std::string_view name, std::string json) {
  if (json.size() > base::payload_limit()) {
    throw PayloadTooLarge("result of once", json.size(), base::payload_limit());
  }
  model::JournalEntry entry;
  entry.execution = run_.claim().id;
  entry.fence = run_.claim().fence;
  entry.kind = journal_once;
  entry.name = name;
  entry.data = std::move(json);
  for (const model::JournalEntry& earlier : entries_) {
    entry.position = std::max(entry.position, earlier.position + 1);
  }
  if (app_->engine().journal(entry) == model::FinishVerdict::stale) {
    throw StaleLease("once '" + std::string(name) + "': the lease of execution " + entry.execution.to_string() +
                     " is not this attempt's any more");
  }
  entries_.push_back(std::move(entry));
}

}  // namespace detail

}  // namespace hapax
