// Short helpers for the workflow tests' store calls.
#pragma once

#include "conformance/fixture.hpp"
#include "conformance/flow_tasks.hpp"

#include <map>
#include <utility>

namespace hapax::conformance {

class WorkflowConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    worker_ = flow_worker(1h, {"default", "flows"});
  }

  TestWorker flow_worker(Duration lease, std::vector<std::string> queues) {
    TestWorker made = worker(lease, std::move(queues));
    made.tasks = flow_tasks;
    return made;
  }

  static NewExecution flow(const std::string& key = "") {
    NewExecution item = key.empty() ? request("order", "flows") : keyed(key);
    item.task = "order";
    item.queue.name = "flows";
    item.kind = Kind::workflow;
    return item;
  }

  // Admits a workflow and claims it.
  Claim begun(const std::string& key = "") {
    (void)admit_id(flow(key));
    return claim_one(worker_);
  }

  static JournalEntry entry(std::int32_t position, const std::string& data = "null") {
    return {.position = position, .kind = 11, .name = "step-" + std::to_string(position), .data = data};
  }

  static JournalEntry starting(std::int32_t position, const NewExecution& child) {
    JournalEntry one = entry(position);
    one.start = std::make_shared<const NewExecution>(child);
    return one;
  }

  NewExecution child_of(const Claim& parent, const std::string& task = "work") const {
    NewExecution item = request(task);
    item.parent = parent.id;
    return item;
  }

  AdvanceReply advance_run(const Claim& claim, std::vector<JournalEntry> entries, bool clears_lost = false) {
    const Advance turn{
        .execution = claim.id, .fence = claim.fence, .entries = std::move(entries), .clears_lost = clears_lost};
    return store().advance({&turn, 1}).at(0);
  }

  static Finish turn_finish(const Claim& claim, FinishKind kind, Turn turn = {}) {
    Finish finish = ending(claim, kind);
    finish.turn = std::make_shared<const Turn>(std::move(turn));
    return finish;
  }

  FinishVerdict wait(const Claim& claim, Turn turn = {}) {
    return finish(turn_finish(claim, FinishKind::waiting, std::move(turn)));
  }

  History history(const Uuid& id, std::int32_t from = 0, std::int64_t after = 0) {
    const HistoryRequest request{.execution = id, .from_position = from, .after_event = after};
    return store().histories({&request, 1}).at(0);
  }

  std::vector<Event> events(const Uuid& id) { return history(id).events; }

  SignalResult send(const Uuid& id, const std::string& name, const std::string& data = "null",
                    std::optional<std::string> once = {}) {
    const Signal signal{.execution = id, .name = name, .data = data, .once = std::move(once)};
    return store().signal({&signal, 1}).at(0);
  }

  // Claims a workflow that is due again.
  Claim woken(const Uuid& id) {
    Claim claim = claim_one(worker_);
    EXPECT_EQ(claim.id, id);
    return claim;
  }
  bool nothing_due() { return claim(worker_).empty(); }

  TestWorker worker_;
};

}  // namespace hapax::conformance
