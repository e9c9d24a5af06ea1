#include "torture/server.hpp"

#include <libpq-fe.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>

namespace hapax::torture {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    throw std::runtime_error(std::string(name) + " is not set: run ./dev torture --store postgres");
  }
  return value;
}

}  // namespace

Server::Server()
    : url_(variable("HAPAX_TEST_POSTGRES_URL")),
      folder_(variable("HAPAX_TEST_POSTGRES_FOLDER")),
      control_(variable("HAPAX_TEST_POSTGRES_CONTROL")) {}

void Server::stop_immediately() { control("stop", "immediate"); }

void Server::start() { control("start", ""); }

int Server::terminate_backends(int one_in) {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(url_.c_str()), PQfinish);
  const std::string statement =
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
      " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND random() * " +
      std::to_string(one_in) + " < 1";
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection.get(), statement.c_str()), PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) throw std::runtime_error(PQerrorMessage(connection.get()));
  return std::atoi(PQgetvalue(result.get(), 0, 0));
}

void Server::control(const std::string& command, const std::string& mode) {
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) {
    // The cluster's owner may lack access to this process's folder.
    if (::chdir("/") != 0) ::_exit(126);
    ::execl(control_.c_str(), control_.c_str(), command.c_str(), folder_.c_str(), mode.empty() ? nullptr : mode.c_str(),
            nullptr);
    ::_exit(127);
  }
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error(control_ + " " + command + " failed");
  }
}

}  // namespace hapax::torture
