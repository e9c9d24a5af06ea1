#include "model/identity.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"

#include <gtest/gtest.h>

namespace hapax::model {
namespace {

std::string hash(const IdentityParts& parts) { return base::to_hex(identity_hash(parts)); }

// Identities are stored, so these never change. Computed by Python from the rule alone:
//   import hashlib
//   def identity(*parts): return hashlib.sha256(b"".join(len(p).to_bytes(8, "big") + p for p in parts)).hexdigest()
//   identity(b"default", b"task", b"charge_card", b"charge-order-456")
TEST(Identity, GoldenVectors) {
  EXPECT_EQ(hash({.namespace_name = "default", .scope = Scope::task, .name = "charge_card", .key = "charge-order-456"}),
            "b3b8358d725bed4ba1c6df978308811b4aa1824187c9bb763e36cf61e18f4481");
  EXPECT_EQ(hash({.namespace_name = "default", .scope = Scope::queue, .name = "payments", .key = "charge-order-456"}),
            "acdc20b2ce9644638eb875d2e2a513ca87f301c258a5eb8d9eed32b0de21f629");
  EXPECT_EQ(hash({.namespace_name = "default", .scope = Scope::global, .name = "", .key = "charge-order-456"}),
            "02daf975ff5c440db35dc9e4ad49632a7b282c8917701b9773dfae0bd06b21ac");
  EXPECT_EQ(hash({.namespace_name = "tenant-ü",
                  .scope = Scope::task,
                  .name = "report",
                  .key = R"({"customer":"acme","month":"2026-03"})"}),
            "8dcc655af577c84ccee3ceeb188dc5a6ea75aaa5d3f335d1aeda112c2ce9835f");
}

TEST(Identity, GoldenVectorsOfPartsThatRunTogether) {
  EXPECT_EQ(hash({.namespace_name = "default", .name = "a", .key = "bc"}),
            "e8e6ea6944c4e38aec2b9ebbd3a9a863bfb279004f14c98981c51b4eaa7e5182");
  EXPECT_EQ(hash({.namespace_name = "default", .name = "ab", .key = "c"}),
            "42af20d21aee38634b6d87a8fcef24e186ea8ca2ff2f0830484836f5a8eb2f0a");
  EXPECT_EQ(hash({.namespace_name = "default", .name = "abc", .key = ""}),
            "56096fefd3ed52783aed31620c1dc61cc6f792bb36eb23f948ddd0680a4f7d5b");
  EXPECT_EQ(hash({.namespace_name = "defaulta", .name = "", .key = "bc"}),
            "349f4a9c1f9640636fd27be1977ece24b7cad5fb9cac75585fbbf8d38f5e3571");
  EXPECT_EQ(hash({.namespace_name = "d", .name = "a", .key = "bc"}),
            "a247c9351fc402ac1bd0d899913ce082149a6559812b18dc3f06c523139bcf69");
  EXPECT_EQ(hash({.namespace_name = "default", .scope = Scope::queue, .name = "a", .key = "bc"}),
            "bc6b7d012b9cbb2b6324b236c80ec1ea7c4c8f2aca12859e141a6a7da1cc5c09");
  EXPECT_EQ(hash({.namespace_name = "default", .scope = Scope::global, .name = "a", .key = "bc"}),
            "9993c39c089a000034f093e5ee0ea5f6737ba1f5d8e5571f6574811c7302b7fb");
}

TEST(Identity, GoldenVectorsOfOtherKeys) {
  EXPECT_EQ(hash({.namespace_name = "", .name = "", .key = ""}),
            "161143d6a74a262c83637b9aa7ca180170a1a5113ffffff9cc0031aac24f571e");
  EXPECT_EQ(hash({.namespace_name = "default", .name = "nightly", .key = "nightly-2026-W01"}),
            "9d72dc3d44574d1337fb714221d7fa9d194b8c313f49f2cac0b72da83973efec");
  EXPECT_EQ(hash({.namespace_name = "default", .name = "Zürich", .key = "Straße 😀"}),
            "69ed2865ba83a6637623a357ebbb0cb56406a4af21836fc5b338174e2c8403f7");
  EXPECT_EQ(hash({.namespace_name = "default", .name = "a", .key = std::string_view("b\0c", 3)}),
            "8b1cbb6deb6f1a4bb60f7736e5a95359a302cb29a0bbf18dc5ca2af56dc957df");
  EXPECT_EQ(hash({.namespace_name = "default", .name = std::string(200, 'n'), .key = std::string(255, 'k')}),
            "3a03d8da1948595b3d8c71cdaad585427d8c371bb9941ec7ead58bc4e2684643");
}

// `strict` hashes the canonical input as the key.
TEST(Identity, GoldenVectorsOfWholeInputs) {
  const auto of_input = [](std::string_view task, std::string_view input) {
    return hash({.namespace_name = "default", .name = task, .key = base::canonical_json(input)});
  };
  EXPECT_EQ(of_input("charge_card", R"({"total": 99.990, "id": "\u0034\u0035\u0036"})"),
            "8dd53b58ffadf122666ead32891bac9ae084dba5dc1328afb421e3b8696605ef");
  EXPECT_EQ(of_input("noop", " null "), "d634422aec21b7939f4141dbdbbadd4360c254f8ebe76dd3fb5f31c65e2c59a8");
  EXPECT_EQ(of_input("count", "9007199254740993"), "444bd5a7f28041f7a39677c8627d32d20ac919bd6e7f8f7e61fe6d913f65c29c");
}

TEST(Identity, PartsDoNotRunIntoEachOther) {
  EXPECT_NE(hash({.namespace_name = "n", .name = "a", .key = "bc"}),
            hash({.namespace_name = "n", .name = "ab", .key = "c"}));
  EXPECT_NE(hash({.namespace_name = "na", .name = "b", .key = "c"}),
            hash({.namespace_name = "n", .name = "ab", .key = "c"}));
}

TEST(Identity, ScopeKeepsTheSameKeyApart) {
  EXPECT_NE(hash({.namespace_name = "n", .scope = Scope::task, .name = "x", .key = "k"}),
            hash({.namespace_name = "n", .scope = Scope::queue, .name = "x", .key = "k"}));
  EXPECT_NE(hash({.namespace_name = "n", .scope = Scope::task, .name = "", .key = "k"}),
            hash({.namespace_name = "n", .scope = Scope::global, .name = "", .key = "k"}));
}

TEST(Identity, GloballyTheNameDoesNotMatter) {
  EXPECT_EQ(hash({.namespace_name = "n", .scope = Scope::global, .name = "x", .key = "k"}),
            hash({.namespace_name = "n", .scope = Scope::global, .name = "y", .key = "k"}));
}

TEST(Identity, GuardedCallsAreInAScopeOfTheirOwn) {
  EXPECT_EQ(base::to_hex(guard_identity_hash("default", "create_invoice", R"(["order-7"])")),
            "7f274ea868d079bb13930705ba4c44a1e7a8e5da65d12b3026377b760f97a903");
  EXPECT_NE(guard_identity_hash("default", "a", "bc"), guard_identity_hash("default", "ab", "c"));
  EXPECT_NE(base::to_hex(guard_identity_hash("default", "a", "k")),
            hash({.namespace_name = "default", .name = "a", .key = "k"}));
}

// Plain SHA-256 of the canonical input.
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
