#include "model/task_definition.hpp"

#include <hapax/error.hpp>

#include <gtest/gtest.h>

namespace hapax::model {
namespace {

using namespace std::chrono_literals;

std::string refusal(std::string_view json) {
  try {
    (void)decode_definition(json, "tasks.report");
  } catch (const InvalidArgument& error) { return error.what(); }
  return "taken";
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(TaskDefinition, IsReadBackAsItWasWritten) {
  TaskDefinition definition;
  definition.strategy = IdentityStrategy::contextual;
  definition.identity_keys = {"/customer_id", "/a~1b"};
  definition.scope = IdentityScope::global;
  definition.fingerprint = Fingerprint{.compare = true, .pointers = {"/x"}};
  definition.reuse = Reuse::allow;
  definition.dedup_window = 36h;
  definition.queue = "reports";
  definition.priority = -5;
  definition.max_attempts = 6;
  definition.max_lost = 2;
  definition.timeout = 90s;
  definition.deadline = 2h;
  definition.retry = RetryPolicy{.base = 1s, .cap = 5min, .multiplier = 3, .jitter = Jitter::equal};
  EXPECT_EQ(decode_definition(encode_definition(definition), "t"), definition);
  EXPECT_EQ(decode_definition(encode_definition({}), "t"), TaskDefinition{});
  definition.fingerprint = Fingerprint{.compare = false};
  EXPECT_EQ(decode_definition(encode_definition(definition), "t"), definition);
}

TEST(TaskDefinition, WhatCannotBeIsRefusedByNameWithWhatWasExpected) {
  EXPECT_TRUE(has(refusal(R"({"identity_stategy":"strict"})"), R"(did you mean "identity_strategy"?)"));
  EXPECT_TRUE(has(refusal(R"({"identity_strategy":"exact"})"),
                  "tasks.report.identity_strategy: 'exact' is none; expected strict, caller_provided, always_unique or "
                  "contextual"));
  EXPECT_TRUE(has(refusal(R"({"identity_strategy":"contextual"})"), "tasks.report.identity_keys: is missing"));
  EXPECT_TRUE(has(refusal(R"({"identity_keys":["/a"]})"), "identity_strategy is not contextual"));
  EXPECT_TRUE(has(refusal(R"({"identity_strategy":"contextual","identity_keys":["a"]})"), "JSON Pointer"));
  EXPECT_TRUE(has(refusal(R"({"identity_strategy":"contextual","identity_keys":"/a"})"), "a list of JSON Pointers"));
  EXPECT_TRUE(has(refusal(R"({"fingerprint":"all"})"), R"("input", "none" or a list)"));
  EXPECT_TRUE(has(refusal(R"({"fingerprint":[]})"), R"("input", "none" or a list)"));
  EXPECT_TRUE(has(refusal(R"({"dedup_window":"7 days"})"), "tasks.report.dedup_window"));
  EXPECT_TRUE(has(refusal(R"({"max_attempts":0})"), "max_attempts"));
  EXPECT_TRUE(has(refusal(R"({"max_attempts":"six"})"), "a whole number"));
  EXPECT_TRUE(has(refusal(R"({"retry":{"base":"1s","jitters":"full"}})"), "tasks.report.retry.jitters"));
  EXPECT_TRUE(has(refusal(R"({"queue":""})"), "queue"));
  EXPECT_TRUE(has(refusal("[]"), "is not an object"));
}

TEST(TaskDefinition, DeclarationsConflictInWhatDecidesSameness) {
  TaskDefinition stored;
  TaskDefinition declared;
  declared.strategy = IdentityStrategy::strict;
  EXPECT_EQ(conflict_of(stored, declared, IdentityStrategy::strict), "") << "strict is the default";
  EXPECT_TRUE(has(conflict_of(stored, declared, IdentityStrategy::always_unique),
                  "identity_strategy is always_unique there and strict here"));
  stored.queue = "elsewhere";
  stored.max_attempts = 9;
  EXPECT_EQ(conflict_of(stored, declared, IdentityStrategy::strict), "") << "how it is run may differ";
  stored.scope = IdentityScope::global;
  stored.dedup_window = 1h;
  const std::string conflict = conflict_of(stored, declared, IdentityStrategy::strict);
  EXPECT_TRUE(has(conflict, "identity_scope is global there and task here"));
  EXPECT_TRUE(has(conflict, "dedup_window is 1h there and the queue's here"));
}

TEST(TaskDefinition, TheCatalogueHasADefaultStrategy) {
  StoredCatalogue stored;
  stored.tasks.push_back({.name = "a", .definition = R"({"queue":"q"})"});
  EXPECT_EQ(decode_catalogue(stored).default_strategy, IdentityStrategy::strict);
  stored.settings.push_back({.name = "identity.default", .value = "caller_provided"});
  const Catalogue catalogue = decode_catalogue(stored);
  EXPECT_EQ(catalogue.default_strategy, IdentityStrategy::caller_provided);
  ASSERT_NE(catalogue.find("a"), nullptr);
  EXPECT_EQ(catalogue.find("a")->queue, "q");
  EXPECT_EQ(catalogue.find("b"), nullptr);
}

}  // namespace
}  // namespace hapax::model
