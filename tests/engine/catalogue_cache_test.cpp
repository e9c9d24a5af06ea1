#include "engine/catalogue_cache.hpp"

#include <hapax/error.hpp>

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

}  // namespace
}  // namespace hapax::engine
