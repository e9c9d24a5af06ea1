#include "model/strategy.hpp"

#include <hapax/error.hpp>

#include "base/uuid7.hpp"
#include "model/effect_key.hpp"
#include "model/identity.hpp"

#include <gtest/gtest.h>

namespace hapax::model {
namespace {

using namespace std::chrono_literals;

NewExecution request(const std::string& input, const std::string& task = "generate-report") {
  NewExecution item;
  item.id = base::new_uuid7();
  item.task = task;
  item.input = input;
  return item;
}

IdentityRules rules(IdentityStrategy strategy, std::vector<std::string> keys = {}) {
  return {.strategy = strategy, .keys = std::move(keys)};
}

std::optional<base::Digest> hash_of(NewExecution item, const IdentityRules& by, const EnqueueOptions& asked = {}) {
  identify(item, by, asked);
  return item.identity ? std::optional(item.identity->hash) : std::nullopt;
}

const IdentityRules strict = rules(IdentityStrategy::strict);
const IdentityRules contextual = rules(IdentityStrategy::contextual, {"/customer_id", "/month"});

// ---- Strategies ----------------------------------------------------------------------------------------------------

TEST(Strategy, StrictIsTheWholeInputHoweverItIsSpelled) {
  const auto one = hash_of(request(R"({"a":1.0,"b":"é"})"), strict);
  EXPECT_EQ(hash_of(request("{ \"b\" : \"\\u00e9\", \"a\" : 1e0 }"), strict), one);
  EXPECT_NE(hash_of(request(R"({"a":2,"b":"é"})"), strict), one);
  EXPECT_NE(hash_of(request(R"({"a":1.0,"b":"é"})", "other-task"), strict), one);
}

TEST(Strategy, ContextualIsTheNamedFieldsAndNothingElse) {
  const auto one = hash_of(request(R"({"customer_id":7,"month":"2026-03","asked_at":1})"), contextual);
  EXPECT_EQ(hash_of(request(R"({"month":"2026-03","asked_at":2,"customer_id":7.0})"), contextual), one);
  EXPECT_NE(hash_of(request(R"({"customer_id":7,"month":"2026-04"})"), contextual), one);
  EXPECT_NE(hash_of(request(R"({"customer_id":7,"month":null})"), contextual), one);
}

TEST(Strategy, AFieldThatIsNotThereIsAnErrorThatNamesIt) {
  try {
    (void)hash_of(request(R"({"customer_id":7})"), contextual);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.field(), "input");
    EXPECT_NE(std::string(error.what()).find("/month"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find(R"(such as {"month":7})"), std::string::npos);
  }
}

TEST(Strategy, AlwaysUniqueHasNoIdentity) {
  EXPECT_FALSE(hash_of(request("1"), rules(IdentityStrategy::always_unique)));
  EXPECT_FALSE(hash_of(request("1"), rules_of(nullptr, IdentityStrategy::strict))) << "a name nobody catalogued";
}

TEST(Strategy, CallerProvidedWithoutAKeyIsAnErrorThatNamesTheTask) {
  try {
    (void)hash_of(request("1"), rules(IdentityStrategy::caller_provided));
    FAIL();
  } catch (const IdempotencyKeyRequired& error) {
    EXPECT_EQ(error.name(), "IdempotencyKeyRequired");
    EXPECT_NE(std::string(error.what()).find("generate-report"), std::string::npos);
  }
}

TEST(Strategy, AKeyOnTheRequestCountsBeforeEveryStrategy) {
  const EnqueueOptions asked{.task_id = "k"};
  const auto by_key =
      identity_hash({.namespace_name = "default", .scope = Scope::task, .name = "generate-report", .key = "k"});
  for (const IdentityRules& by :
       {strict, contextual, rules(IdentityStrategy::always_unique), rules(IdentityStrategy::caller_provided)}) {
    EXPECT_EQ(hash_of(request(R"({"customer_id":7,"month":"2026-03"})"), by, asked), by_key);
  }
}

TEST(Strategy, KeysOfCallersNeverMeetWhatHapaxMakes) {
  const std::string input = R"("k")";
  const auto made = hash_of(request(input), strict);
  EXPECT_NE(hash_of(request("1"), strict, {.task_id = "k"}), made);
  EXPECT_NE(hash_of(request("1"), strict, {.task_id = R"("k")"}), made);
  const IdentityRules whole = rules(IdentityStrategy::contextual, {""});
  EXPECT_NE(hash_of(request(input), whole), made);
}

// These never change: identities are stored. Made with
//   python3 -c 'import hashlib; p=[b"default",b"task",b"generate-report",b"\\x01{\\"a\\":1,\\"b\\":2}"];
//   print(hashlib.sha256(b"".join(len(x).to_bytes(8,"big")+x for x in p)).hexdigest())'
TEST(Strategy, GoldenVectors) {
  EXPECT_EQ(key_material(strict, "generate-report", R"({"b":2,"a":1.0})")->material, "\x01{\"a\":1,\"b\":2}");
  EXPECT_EQ(key_material(contextual, "generate-report", R"({"month":"2026-03","customer_id":7})")->material,
            "\x02[[\"/customer_id\",7],[\"/month\",\"2026-03\"]]");
  EXPECT_EQ(base::to_hex(*hash_of(request(R"({"b":2,"a":1.0})"), strict)),
            "be71c0237ba5fb33c5bf9fee6e834b96a8b613bf3383611fedbcfcc8b7234eab");
  EXPECT_EQ(base::to_hex(*hash_of(request(R"({"month":"2026-03","customer_id":7})"), contextual)),
            "870de0862dd6fe5815190d0c48b95b704cdad6e38602b0cc6336b43eac710e3c");
}

// ---- Scopes --------------------------------------------------------------------------------------------------------

TEST(Strategy, TheScopeSaysAmongWhatAKeyIsUnique) {
  const auto hash = [](IdentityScope scope, const std::string& task, const std::string& queue) {
    NewExecution item = request("1", task);
    item.queue.name = queue;
    return hash_of(item, {.strategy = IdentityStrategy::caller_provided, .scope = scope}, {.task_id = "k"});
  };
  EXPECT_NE(hash(IdentityScope::task, "a", "q"), hash(IdentityScope::task, "b", "q"));
  EXPECT_EQ(hash(IdentityScope::task, "a", "q"), hash(IdentityScope::task, "a", "r"));
  EXPECT_EQ(hash(IdentityScope::queue, "a", "q"), hash(IdentityScope::queue, "b", "q"));
  EXPECT_NE(hash(IdentityScope::queue, "a", "q"), hash(IdentityScope::queue, "a", "r"));
  EXPECT_EQ(hash(IdentityScope::global, "a", "q"), hash(IdentityScope::global, "b", "r"));
  EXPECT_NE(hash(IdentityScope::global, "a", "q"), hash(IdentityScope::task, "a", "q"));
}

// `strict` hashes the task's name and the input, so two strict tasks in one queue differ. Only a caller's key is
// shared.
TEST(Strategy, AWiderScopeDoesNotTakeTheTaskOutOfWhatHapaxMakes) {
  const std::string input = R"({"order":1,"total":5})";
  for (const IdentityScope scope : {IdentityScope::queue, IdentityScope::global}) {
    for (IdentityRules by : {strict, rules(IdentityStrategy::contextual, {"/order"})}) {
      by.scope = scope;
      EXPECT_NE(hash_of(request(input, "charge"), by), hash_of(request(input, "refund"), by));
      EXPECT_EQ(hash_of(request(input, "charge"), by), hash_of(request(input, "charge"), by));
      EXPECT_EQ(hash_of(request(input, "charge"), by, {.task_id = "k"}),
                hash_of(request(input, "refund"), by, {.task_id = "k"}));
    }
  }
  NewExecution elsewhere = request(input, "charge");
  elsewhere.queue.name = "elsewhere";
  IdentityRules by = strict;
  by.scope = IdentityScope::global;
  EXPECT_EQ(hash_of(elsewhere, by), hash_of(request(input, "charge"), by));
  by.scope = IdentityScope::queue;
  EXPECT_NE(hash_of(elsewhere, by), hash_of(request(input, "charge"), by));
}

// These never change either. Made with, for the first,
//   python3 -c 'import hashlib; n=b"generate-report"; l=lambda x: len(x).to_bytes(8,"big")+x;
//   p=[b"default",b"queue",b"default",b"\\x01"+l(n)+b"{\\"a\\":1,\\"b\\":2}"];
//   print(hashlib.sha256(b"".join(map(l,p))).hexdigest())'
TEST(Strategy, GoldenVectorsOfWiderScopes) {
  const auto hex = [](IdentityRules by, IdentityScope scope, const std::string& input) {
    by.scope = scope;
    return base::to_hex(*hash_of(request(input), by));
  };
  const std::string whole = R"({"b":2,"a":1.0})";
  const std::string fields = R"({"month":"2026-03","customer_id":7})";
  EXPECT_EQ(hex(strict, IdentityScope::queue, whole),
            "0588b6e498cc73496e2af70ca2627b19531f1ad27c19963040c62ebea0b5ad86");
  EXPECT_EQ(hex(strict, IdentityScope::global, whole),
            "8ae2f3c59cc989623f96e522697849dff65896aea76baa761019243912842386");
  EXPECT_EQ(hex(contextual, IdentityScope::queue, fields),
            "16135e18acc8db4a572a184093383eab97846aa6556d88bd2845ba5f2ccfeed7");
  EXPECT_EQ(hex(contextual, IdentityScope::global, fields),
            "624b3f509507ee600ac2b65c9cc738c4c12ca7c7bebfe8bb0027767780bdf40d");
}

// ---- Fingerprints --------------------------------------------------------------------------------------------------

std::optional<base::Digest> fingerprint(const std::string& input, const IdentityRules& by,
                                        const EnqueueOptions& asked = {.task_id = "k"}) {
  NewExecution item = request(input);
  identify(item, by, asked);
  return item.identity->fingerprint;
}

TEST(Strategy, TheFingerprintOfAKeyIsTheInputUnlessTheTaskSaysElse) {
  IdentityRules by = rules(IdentityStrategy::caller_provided);
  EXPECT_EQ(fingerprint("{\"a\":1}", by), input_fingerprint("{ \"a\": 1.0 }"));
  by.fingerprint = {.compare = false};
  EXPECT_FALSE(fingerprint("{\"a\":1}", by));
  by.fingerprint = {.compare = true, .pointers = {"/a"}};
  EXPECT_EQ(fingerprint(R"({"a":1,"b":2})", by), fingerprint(R"({"a":1,"b":3})", by));
  EXPECT_NE(fingerprint(R"({"a":1})", by), fingerprint(R"({"a":2})", by));
  EXPECT_NE(fingerprint(R"({"a":null})", by), fingerprint(R"({})", by)) << "null is not nothing";
}

TEST(Strategy, AContextualTasksFingerprintIsItsKeys) {
  EXPECT_EQ(fingerprint(R"({"customer_id":7,"month":"2026-03","x":1})", contextual),
            fingerprint(R"({"customer_id":7,"month":"2026-03","x":2})", contextual));
  EXPECT_NE(fingerprint(R"({"customer_id":7,"month":"2026-03"})", contextual),
            fingerprint(R"({"customer_id":7,"month":"2026-04"})", contextual));
}

TEST(Strategy, WhatIsInTheIdentityIsNotComparedAgain) {
  EXPECT_FALSE(fingerprint("1", strict, {}));
  EXPECT_FALSE(fingerprint(R"({"customer_id":7,"month":"2026-03"})", contextual, {}));
  IdentityRules by = contextual;
  by.fingerprint = {.compare = true, .pointers = {"/x"}};
  EXPECT_TRUE(fingerprint(R"({"customer_id":7,"month":"2026-03","x":1})", by, {}));
}

// ---- Modes ---------------------------------------------------------------------------------------------------------

TEST(Strategy, ModesNeedSomethingThatMakesRequestsTheSame) {
  EXPECT_THROW((void)hash_of(request("1"), {}, {.throttle = 1min}), InvalidArgument);
  EXPECT_THROW((void)hash_of(request("1"), {}, {.debounce = 1min}), InvalidArgument);
  EXPECT_THROW((void)hash_of(request("1"), {}, {.keep_last = true}), InvalidArgument);
  EXPECT_THROW((void)hash_of(request("1"), strict, {.throttle = 1min, .keep_last = true}), InvalidArgument);
  EXPECT_THROW((void)hash_of(request("1"), strict, {.throttle = 0s}), InvalidArgument);
  EXPECT_THROW((void)hash_of(request("1"), strict, {.debounce = -1s}), InvalidArgument);
  EXPECT_NO_THROW((void)hash_of(request("1"), strict, {.throttle = 1min}));
}

TEST(Strategy, WhatHasNoEffectUnderAModeIsRefused) {
  const auto field = [](const EnqueueOptions& asked) -> std::string {
    try {
      (void)hash_of(request("1"), strict, asked);
    } catch (const InvalidArgument& error) { return error.field(); }
    return "";
  };
  for (EnqueueOptions asked :
       {EnqueueOptions{.throttle = 1min}, EnqueueOptions{.debounce = 1min}, EnqueueOptions{.keep_last = true}}) {
    asked.on_conflict = OnConflict::wait;
    EXPECT_EQ(field(asked), "");
    asked.on_conflict = OnConflict::terminate_existing;
    EXPECT_EQ(field(asked), "on_conflict");
    asked.on_conflict = OnConflict::reject;
    EXPECT_EQ(field(asked), asked.throttle ? "" : "on_conflict") << "a throttled one may be refused";
    asked.on_conflict = OnConflict::return_existing;
    asked.reuse = Reuse::reject;
    EXPECT_EQ(field(asked), "reuse");
  }
}

TEST(Strategy, DebounceIsItsOwnDelay) {
  NewExecution item = request("1");
  identify(item, strict, {.debounce = 30s});
  EXPECT_EQ(item.delay, 30s);
  EXPECT_EQ(item.identity->mode, IdentityMode::debounce);
  NewExecution delayed = request("1");
  delayed.delay = 1s;
  EXPECT_THROW(identify(delayed, strict, {.debounce = 30s}), InvalidArgument);
}

TEST(Strategy, KeepLastRunsOneAtATime) {
  NewExecution item = request("1");
  identify(item, strict, {.keep_last = true});
  ASSERT_TRUE(item.limit_key);
  EXPECT_TRUE(item.limit_key->ordered);
  NewExecution keyed = request("1");
  keyed.limit_key = LimitKey{.text = "mine"};
  EXPECT_THROW(identify(keyed, strict, {.keep_last = true}), InvalidArgument);
}

TEST(Strategy, RunsOfAModeAreEffectsOfTheirOwn) {
  NewExecution one = request("1");
  NewExecution two = request("1");
  identify(one, strict, {.throttle = 1min});
  identify(two, strict, {.throttle = 1min});
  EXPECT_NE(*one.effect_key, *two.effect_key);
  NewExecution held = request("1");
  identify(held, strict, {});
  EXPECT_FALSE(held.effect_key) << "derived from the identity";
}

// ---- Bad input -----------------------------------------------------------------------------------------------------

TEST(Strategy, BadKeysAndInputsAreRefused) {
  for (const std::string& key : {std::string(), std::string(256, 'x'), std::string("a\nb"), std::string("\xff")}) {
    EXPECT_THROW((void)hash_of(request("1"), {}, {.task_id = key}), InvalidIdempotencyKey);
  }
  for (const char* input : {R"({"a":1,"a":2})", R"("\ud800")", "NaN", "18446744073709551616", "{"}) {
    EXPECT_THROW((void)hash_of(request(input), strict), InvalidJson) << input;
    EXPECT_THROW((void)hash_of(request(input), {}, {.task_id = "k"}), InvalidJson) << input;
  }
  EXPECT_THROW((void)hash_of(request(std::string(65, '[') + std::string(65, ']')), strict), InvalidJson);
}

}  // namespace
}  // namespace hapax::model
