// A read that fails because of stored data is a StoreUnavailable, never an error of the caller (400).
#include "unit/postgres_fixture.hpp"

#include <hapax/error.hpp>

namespace hapax::store {

namespace {

TEST_F(PostgresStoreTest, ADataErrorOfAReadIsNotTheCallers) {
  const NewExecution item = request();
  EXPECT_TRUE(store_->admit({&item, 1}).at(0).created());
  psql_.run("CREATE OR REPLACE FUNCTION " + schema_ +
            ".has_tag(labels text, tag text) RETURNS boolean LANGUAGE sql AS $$ SELECT ('1e-20000' || left(tag, "
            "0))::numeric > 0 $$");
  try {
    std::ignore = store_->list({.tag = "urgent"});
    FAIL() << "the read was expected to fail";
  } catch (const StoreUnavailable& error) {
    EXPECT_NE(std::string(error.what()).find("22003"), std::string::npos) << error.what();
  }
}

}  // namespace

}  // namespace hapax::store
