#include "model/identity.hpp"

#include <hapax/error.hpp>

#include <gtest/gtest.h>

namespace hapax::model {
namespace {

std::string hash(const IdentityParts& parts) { return base::to_hex(identity_hash(parts)); }

// Computed once by other means from SPEC I5; identities are stored, so these never change.
TEST(Identity, GoldenVectors) {
  EXPECT_EQ(hash({.ns = "default", .scope = Scope::task, .name = "charge_card", .key = "charge-order-456"}),
            "b3b8358d725bed4ba1c6df978308811b4aa1824187c9bb763e36cf61e18f4481");
  EXPECT_EQ(hash({.ns = "default", .scope = Scope::queue, .name = "payments", .key = "charge-order-456"}),
            "acdc20b2ce9644638eb875d2e2a513ca87f301c258a5eb8d9eed32b0de21f629");
  EXPECT_EQ(hash({.ns = "default", .scope = Scope::global, .name = "", .key = "charge-order-456"}),
            "02daf975ff5c440db35dc9e4ad49632a7b282c8917701b9773dfae0bd06b21ac");
  EXPECT_EQ(hash({.ns = "tenant-ü",
                  .scope = Scope::task,
                  .name = "report",
                  .key = R"({"customer":"acme","month":"2026-03"})"}),
            "8dcc655af577c84ccee3ceeb188dc5a6ea75aaa5d3f335d1aeda112c2ce9835f");
}

TEST(Identity, PartsDoNotRunIntoEachOther) {
  EXPECT_NE(hash({.ns = "n", .name = "a", .key = "bc"}), hash({.ns = "n", .name = "ab", .key = "c"}));
  EXPECT_NE(hash({.ns = "na", .name = "b", .key = "c"}), hash({.ns = "n", .name = "ab", .key = "c"}));
}

TEST(Identity, ScopeKeepsTheSameKeyApart) {
  EXPECT_NE(hash({.ns = "n", .scope = Scope::task, .name = "x", .key = "k"}),
            hash({.ns = "n", .scope = Scope::queue, .name = "x", .key = "k"}));
  EXPECT_NE(hash({.ns = "n", .scope = Scope::task, .name = "", .key = "k"}),
            hash({.ns = "n", .scope = Scope::global, .name = "", .key = "k"}));
}

TEST(Identity, GloballyTheNameDoesNotMatter) {
  EXPECT_EQ(hash({.ns = "n", .scope = Scope::global, .name = "x", .key = "k"}),
            hash({.ns = "n", .scope = Scope::global, .name = "y", .key = "k"}));
}

TEST(Fingerprint, GoldenVectors) {
  EXPECT_EQ(base::to_hex(input_fingerprint(R"({"id":"456","total":99.99})")),
            "ac3b730e6c1249189a3ac3ef5dcbd7f293ed711738df1b6e7eb3429aa74b151d");
  EXPECT_EQ(base::to_hex(input_fingerprint("null")),
            "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b");
}

TEST(Fingerprint, IsOfTheValueNotOfItsSpelling) {
  EXPECT_EQ(input_fingerprint(R"({"id":"456","total":99.99})"),
            input_fingerprint(R"( { "total" : 9999e-2, "\u0069d" : "456" } )"));
  EXPECT_EQ(input_fingerprint("1"), input_fingerprint("1.0"));
  EXPECT_NE(input_fingerprint("9007199254740992"), input_fingerprint("9007199254740993"));
  EXPECT_NE(input_fingerprint(R"("1")"), input_fingerprint("1"));
}

TEST(Fingerprint, RefusesWhatIsNoJson) { EXPECT_THROW((void)input_fingerprint("{"), InvalidJson); }

}  // namespace
}  // namespace hapax::model
