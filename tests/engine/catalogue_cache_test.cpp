#include "engine/catalogue_cache.hpp"

#include <hapax/error.hpp>

#include "engine/engine.hpp"
#include "engine/world.hpp"

#include <gtest/gtest.h>

namespace hapax::engine {
namespace {

const TaskSpec bare{.name = "bare"};
const TaskSpec strict{.name = "pay", .options = {.identity_strategy = IdentityStrategy::strict}};

TEST(CatalogueCacheTest, AStoreThatIsAwayAtTheFirstLookIsAnErrorEachTimeAndNoLonger) {
  World world;
  CatalogueCache cache(world.store, "default");
  world.store.away = true;
  for (int look = 0; look < 2; ++look) {
    EXPECT_THROW((void)cache.find(bare), StoreUnavailable);
    EXPECT_THROW((void)cache.find(strict), StoreUnavailable);
  }
  world.store.away = false;
  EXPECT_EQ(cache.find(bare).definition, nullptr);
  EXPECT_NE(cache.find(strict).definition, nullptr);
}

TEST(CatalogueCacheTest, WhatWasReadBeforeCountsWhileTheStoreIsAway) {
  World world;
  CatalogueCache cache(world.store, "default");
  (void)cache.find(strict);
  world.store.away = true;
  cache.forget();
  EXPECT_NE(cache.find(strict).definition, nullptr);
}

TEST(CatalogueCacheTest, AnEntryThatCannotBeReadIsSaidToEveryRequest) {
  World world;
  world.store.put_task({.name = "odd", .definition = R"({"of_a_later_release":1})", .origin = "api"}, "ann");
  CatalogueCache cache(world.store, "default");
  for (int look = 0; look < 2; ++look) { EXPECT_THROW((void)cache.find(bare), InvalidArgument); }
  world.store.remove_task("default", "odd", "ann");
  EXPECT_NO_THROW((void)cache.find(bare));
}

TEST(CatalogueCacheTest, InsideATransactionADescriptorCountsAndNothingIsWritten) {
  World world;
  CatalogueCache cache(world.store, "default");
  EXPECT_NE(cache.find(strict, CatalogueCache::Declare::not_now).definition, nullptr);
  EXPECT_TRUE(world.store.catalogue("default").tasks.empty());
  (void)cache.find(strict);
  EXPECT_EQ(world.store.catalogue("default").tasks.size(), 1U);
}

// The catalogue entry lets a request by the command line or the API meet the same identities.
TEST(CatalogueCacheTest, WhateverADescriptorSaysOfIdentitiesIsCatalogued) {
  for (const TaskOptions& options :
       {TaskOptions{.identity_scope = IdentityScope::global}, TaskOptions{.fingerprint = Fingerprint{.compare = false}},
        TaskOptions{.reuse = Reuse::allow}, TaskOptions{.dedup_window = std::chrono::hours(1)}}) {
    World world;
    CatalogueCache cache(world.store, "default");
    (void)cache.find({.name = "pay", .options = options});
    CatalogueCache other(world.store, "default");
    const model::TaskDefinition* const seen = other.find({.name = "pay"}).definition;
    ASSERT_NE(seen, nullptr);
    EXPECT_EQ(seen->scope, options.identity_scope);
    EXPECT_EQ(seen->fingerprint.has_value(), options.fingerprint.has_value());
    EXPECT_EQ(seen->reuse.value_or(Reuse::failed_only), options.reuse);
    EXPECT_EQ(seen->dedup_window, options.dedup_window);
    EXPECT_EQ(seen->strategy, IdentityStrategy::always_unique) << "requests without a key run each time, as before";
  }
}

TEST(CatalogueCacheTest, ADescriptorWithoutAStrategyAgreesWithTheEntrysAndNotWithAnotherScope) {
  World world;
  world.store.put_task({.name = "pay", .definition = R"({"identity_strategy":"strict"})", .origin = "api"}, "ann");
  CatalogueCache cache(world.store, "default");
  EXPECT_EQ(cache.find({.name = "pay", .options = {.reuse = Reuse::allow}}).definition->strategy,
            IdentityStrategy::strict);
  EXPECT_THROW((void)cache.find({.name = "pay", .options = {.identity_scope = IdentityScope::global}}),
               ConflictingDeclaration);
}

TEST(CatalogueCacheTest, IdentityKeysWithoutAStrategyAreAnError) {
  World world;
  CatalogueCache cache(world.store, "default");
  try {
    (void)cache.find({.name = "report", .options = {.identity_keys = {"/month"}}});
    ADD_FAILURE() << "nothing would use them";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("identity_strategy = contextual"), std::string::npos) << error.what();
  }
}

TEST(CatalogueCacheTest, AThreadThatMustNotBlockGetsWhatWasReadOrNothing) {
  World world;
  world.store.put_task({.name = "pay", .definition = R"({"identity_strategy":"strict"})", .origin = "api"}, "ann");
  CatalogueCache cache(world.store, "default");
  EXPECT_FALSE(cache.find_known("pay").has_value()) << "nothing was read yet";
  (void)cache.find(bare);
  world.store.away = true;
  const auto known = cache.find_known("pay");
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->definition->strategy, IdentityStrategy::strict);
  EXPECT_EQ(cache.find_known("bare")->definition, nullptr);
  EXPECT_EQ(known->version, cache.find(bare).version);
  cache.forget();
  EXPECT_FALSE(cache.find_known("pay").has_value());
}

TEST(CatalogueCacheTest, AnEngineHasOneCacheOfANamespace) {
  Engine engine(store::open("memory:"));
  const auto cache = engine.catalogue("default");
  EXPECT_EQ(engine.catalogue("default"), cache);
  EXPECT_NE(engine.catalogue("shop"), cache);
}

}  // namespace
}  // namespace hapax::engine
