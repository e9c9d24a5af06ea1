#include "torture/self_test.hpp"

#include "torture/check.hpp"
#include "torture/log.hpp"
#include "torture/options.hpp"
#include "torture/own_writes.hpp"
#include "torture/plan.hpp"

#include "base/uuid7.hpp"
#include "store/open.hpp"

#include <filesystem>
#include <functional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace hapax::torture {
namespace {

// A worker and producer in one, with consistent logs to which the tests then add false ones.
class LittleWorld {
 public:
  explicit LittleWorld(const std::string& folder)
      : folder_(folder),
        url_("sqlite:" + folder + "/self.db"),
        store_(store::open(url_)),
        writes_(own_writes(*store_, url_)),
        log(folder, "worker", 1),
        other_log(folder, "worker", 2) {
    writes_->make_tables();
    id = complete("plain");
  }

  Uuid enqueue(std::string_view task) {
    const auto item = request(task, "self");
    const auto admission = store_->admit(std::span(&item, 1)).at(0);
    log.write(Event::acknowledged, admission.id, task, "", admission.run);
    return admission.id;
  }

  Uuid complete(std::string_view task) {
    const Uuid done = enqueue(task);
    store::NewSession session;
    session.id = base::new_uuid7();
    session.worker = "self";
    session.lease = lease;
    store_->open_session(session);
    store::ClaimRequest claim;
    claim.session = session.id;
    claim.claim_number = 1;
    claim.queues = {{.namespace_name = "default", .name = "self"}};
    const auto claims = store_->claim(claim).claims;
    log.write(Event::started, done, claims.at(0).fence);
    store::Finish finish;
    finish.id = done;
    finish.fence = claims[0].fence;
    finish.result = result_text(1, finish.fence);
    if (store_->finish(std::span(&finish, 1)).at(0) != store::FinishVerdict::accepted) {
      throw std::runtime_error("self-test: a finish was refused");
    }
    log.write(Event::finished, done, finish.fence, "completed", "accepted", finish.result);
    store_->close_session(session.id);
    return done;
  }

  void effect_of_nothing() {
    const OwnRow row{.table = "torture_effects", .id = base::new_uuid7(), .fence = 1};
    writes_->write(row, [](store::Transaction&) {});
  }

  [[nodiscard]] Findings check() {
    Findings findings;
    check_at_the_end({.store = *store_, .writes = *writes_, .folder = folder_, .schema_prefix = ""}, findings);
    return findings;
  }

 private:
  std::string folder_;
  std::string url_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<OwnWrites> writes_;

 public:
  Log log;
  Log other_log;
  Uuid id;
};

}  // namespace

void check_the_checker(const std::string& folder) {
  const std::string below = folder + "/self-test";
  std::filesystem::create_directory(below);
  LittleWorld world(below);
  if (world.check().violations() != 0) throw std::runtime_error("self-test: a violation where there is none");
  using Lie = std::pair<std::string, std::function<void()>>;
  const std::vector<Lie> lies{
      {"acknowledged enqueue lost", [&] { world.log.write(Event::acknowledged, base::new_uuid7(), "plain", "", 1); }},
      {"claim started twice", [&] { world.other_log.write(Event::started, world.id, 1); }},
      {"second outcome", [&] { world.other_log.write(Event::finished, world.id, 2, "completed", "accepted", "1"); }},
      {"another outcome recorded", [&] { world.log.write(Event::finished, world.id, 1, "failed", "accepted", ""); }},
      {"accepted after the end", [&] { world.other_log.write(Event::finished, world.id, 3, "retry", "accepted", ""); }},
      {"observed outcome changed", [&] { world.log.write(Event::observed, world.id, "failed", ""); }},
      {"cancellation undone", [&] { world.log.write(Event::cancel, world.id, 0, "cancelled"); }},
      {"sub-step recorded twice",
       [&] {
         world.log.write(Event::journaled, world.id, 1, "1/1");
         world.other_log.write(Event::journaled, world.id, 1, "2/1");
       }},
      {"effect without its outcome", [&] { world.effect_of_nothing(); }},
      {"outcome without its effect", [&] { (void)world.complete("ledger"); }},
      {"wrong ending", [&] { (void)world.complete("doomed"); }},
      {"not terminal", [&] { (void)world.enqueue("plain"); }},
  };
  for (const auto& [rule, tell] : lies) {
    const auto before = world.check().violations(rule);
    tell();
    if (world.check().violations(rule) <= before) throw std::runtime_error("self-test: a lie was believed: " + rule);
  }
}

}  // namespace hapax::torture
