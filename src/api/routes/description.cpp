// GET /openapi.json: the API's description for programs.
#include "api/routes/description.hpp"

#include "api/routes/answers.hpp"
#include "api/routes/api.hpp"

namespace hapax::api {

void add_description_routes(http::Router& router) {
  router.add({.method = "GET", .pattern = "/openapi.json", .scope = http::Scope::none, .handler = [](http::Call&) {
                return json_answer(std::string(openapi_json()));
              }});
}

}  // namespace hapax::api
