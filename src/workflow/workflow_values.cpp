// WorkflowRun: time, random numbers, patches, continue-as-new, progress, labels and queries.
#include "workflow/workflow_run.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/random.hpp"
#include "base/uuid7.hpp"
#include "engine/step_thread.hpp"
#include "model/validate.hpp"
#include "store/store.hpp"

#include <algorithm>
#include <utility>

namespace hapax::detail {

namespace {

using workflow::Divergence;
using workflow::Entry;
using workflow::Unwind;

}  // namespace

Time WorkflowRun::now() {
  enter("now");
  try {
    if (const auto* const entry = replay_.next(Entry::now, "")) {
      return Time(Duration(workflow::decode_number(*entry, "us")));
    }
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
  // The claim's time by the store's clock, plus the time since then by this process's clock.
  const Time now = claim().claimed_at + (engine::engine_now() - run_->received);
  replay_.add(Entry::now, "", workflow::encode_number("us", now.time_since_epoch().count()));
  return now;
}

std::uint64_t WorkflowRun::random_bits() {
  enter("random");
  try {
    if (const auto* const entry = replay_.next(Entry::random, "")) {
      return static_cast<std::uint64_t>(workflow::decode_number(*entry, "bits"));
    }
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
  thread_local base::SystemRandom random;
  const std::uint64_t bits = random.next();
  replay_.add(Entry::random, "", workflow::encode_number("bits", static_cast<std::int64_t>(bits)));
  return bits;
}

Uuid WorkflowRun::uuid() {
  enter("uuid");
  try {
    if (const auto* const entry = replay_.next(Entry::uuid, "")) {
      if (const auto id = Uuid::parse(nlohmann::json::parse(entry->data, nullptr, false).value("uuid", ""))) {
        return *id;
      }
      throw Divergence{"at place " + std::to_string(entry->position) + " the journal has no readable uuid"};
    }
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
  const Uuid id = base::new_uuid7();
  replay_.add(Entry::uuid, "", R"({"uuid":")" + id.to_string() + "\"}");
  return id;
}

bool WorkflowRun::patched(std::string_view change_id) {
  enter("patched");
  model::check_name(change_id, "change_id");
  if (const auto known = patches_.find(change_id); known != patches_.end()) {
    if (!known->second) { --call_; }
    return known->second;
  }
  bool patched = true;
  if (const model::JournalEntry* const entry = replay_.peek()) {
    patched = workflow::entry_of(*entry) == Entry::patch && entry->name == change_id;
    if (patched) {
      replay_.take();
    } else {
      --call_;  // the code that wrote this journal did not call patched()
    }
  } else {
    replay_.add(Entry::patch, change_id, "{}");
  }
  patches_.emplace(change_id, patched);
  return patched;
}

void WorkflowRun::continue_as_new(std::string input) {
  enter("continue_as_new");
  try {
    replay_.expect_end("continues as new");
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
  auto next = std::make_shared<model::NewExecution>();
  const model::Claim& before = claim();
  next->id = base::new_uuid7();
  next->queue = before.queue;
  next->task = before.task;
  next->kind = model::Kind::workflow;
  next->input = std::move(input);
  next->priority = before.priority;
  next->max_attempts = before.max_attempts;
  next->max_lost = before.max_lost;
  next->limit_key = before.limit_key;
  if (before.deadline) { next->deadline = *before.deadline - before.created_at; }
  model::check_new_execution(*next);
  continued_ = std::move(next);
  throw Unwind{};
}

void WorkflowRun::progress(double fraction, std::string_view message) {
  enter_uncounted("progress");
  if (!replay_.replaying()) { run_->progress(fraction, message); }
}

void WorkflowRun::set_attribute(std::string_view name, std::string_view value) {
  const std::string stem = std::string(name) + "=";
  model::check_name(stem + std::string(value), "attribute");
  (void)step("set " + std::string(name), {}, [&]() -> std::string {
    const auto execution = app_->store().get(id_);
    model::Labels labels = execution ? execution->labels : claim().labels;
    std::erase_if(labels.tags, [&](const std::string& tag) { return tag.starts_with(stem); });
    labels.tags.push_back(stem + std::string(value));
    if (labels.tags.size() > limits::tags) {
      throw Permanent("InvalidArgument", "attribute: a workflow has at most " + std::to_string(limits::tags) + " tags");
    }
    (void)app_->store().relabel({id_, claim().fence}, labels);
    return "null";
  });
}

void WorkflowRun::add_query(std::string_view name, std::function<std::string(const std::string&)> answer) {
  enter_uncounted("on_query");
  model::check_name(name, "query");
  queries_.insert_or_assign(std::string(name), std::move(answer));
}

}  // namespace hapax::detail
