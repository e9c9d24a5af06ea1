// The PostgreSQL cluster that a run may stop. scripts/test_postgres.sh starts it; the environment names it.
#pragma once

#include <string>

namespace hapax::torture {

class Server {
 public:
  // Reads HAPAX_TEST_POSTGRES_URL, _FOLDER and _CONTROL. Throws if one is missing.
  Server();

  [[nodiscard]] const std::string& url() const { return url_; }
  void stop_immediately();
  void start();
  // Terminates about one in `one_in` of the backends that serve clients. Returns their number.
  int terminate_backends(int one_in);

 private:
  void control(const std::string& command, const std::string& mode);

  std::string url_;
  std::string folder_;
  std::string control_;
};

}  // namespace hapax::torture
