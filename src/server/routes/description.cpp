// GET /openapi.json: what this API is, for programs.
#include "server/routes/description.hpp"

#include "server/routes/answers.hpp"
#include "server/routes/api.hpp"

namespace hapax::server {

void add_description_routes(Router& router) {
  router.add({.method = "GET", .pattern = "/openapi.json", .scope = Scope::none, .handler = [](Call&) {
                return json_answer(std::string(openapi_json()));
              }});
}

}  // namespace hapax::server
