// The PostgreSQL cluster that a run may stop: started by scripts/test_postgres.sh, named by the environment.
#pragma once

#include <string>

namespace hapax::torture {

class Server {
 public:
  // Reads HAPAX_TEST_POSTGRES_URL, _FOLDER and _CONTROL; throws when one is missing.
  Server();

  [[nodiscard]] const std::string& url() const { return url_; }
  void stop_immediately();
  void start();
  // Terminates about a share `one_in` of the backends that serve clients. Returns how many.
  int terminate_backends(int one_in);

 private:
  void control(const std::string& command, const std::string& mode);

  std::string url_;
  std::string folder_;
  std::string control_;
};

}  // namespace hapax::torture
