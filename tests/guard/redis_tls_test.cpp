// Redis over TLS: verified with certificates that the test makes.
#include "own_redis.hpp"

#include <gmock/gmock.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace hapax::guard_tests {

namespace {

using testing::HasSubstr;

// Certificates that the test makes: "server" is for 127.0.0.1, "other" for another machine.
class Certificates {
 public:
  Certificates() : folder_(output_of("mktemp -d")) {
    make("server", "IP:127.0.0.1");
    make("other", "DNS:other.example");
    make("client", "DNS:client.example");
  }
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;
  ~Certificates() { output_of("rm -rf " + folder_); }
  [[nodiscard]] std::string certificate(const std::string& name) const { return folder_ + "/" + name + ".crt"; }
  [[nodiscard]] std::string key(const std::string& name) const { return folder_ + "/" + name + ".key"; }

 private:
  void make(const std::string& name, const std::string& whose) const {
    output_of("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=" + name +
              " -addext subjectAltName=" + whose + " -keyout " + key(name) + " -out " + certificate(name) +
              " 2>/dev/null");
  }

  const std::string folder_;
};

// A port that was free a moment ago, below the range that the system assigns by itself.
int free_port() {
  std::random_device random;
  for (int tries = 0; tries < 100; ++tries) {
    const auto port = static_cast<std::uint16_t>(10'000 + random() % 10'000);
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool is_free = bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(socket);
    if (is_free) { return port; }
  }
  throw std::runtime_error("no free port");
}

// A server with TLS on a loopback port.
struct TlsRedis {
  Certificates certificates;
  int port = free_port();
  OwnRedis server;

  explicit TlsRedis(const std::string& shown = "server", bool asks = false)
      : server("bind 127.0.0.1 tls-port " + std::to_string(port) + " tls-cert-file " + certificates.certificate(shown) +
               " tls-key-file " + certificates.key(shown) + " tls-ca-cert-file " + certificates.certificate("client") +
               " tls-auth-clients " + (asks ? "yes" : "no")) {}
  [[nodiscard]] std::string url(const std::string& parameters = "") const {
    return "rediss://127.0.0.1:" + std::to_string(port) + "?timeout=5s&connect_timeout=5s" + parameters;
  }
  [[nodiscard]] std::string trusting(const std::string& name) const {
    return url("&ca_file=" + certificates.certificate(name));
  }
};

using RedisTls = RedisTest;

}  // namespace

TEST_F(RedisTls, OverTlsCallsAreGuardedAsAnywhere) {
  TlsRedis redis;
  const GuardStorePtr store = open_guard_store(redis.trusting("server"));
  const auto count = guarded(store);
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count(1), 1);
  redis.server.stop();
  redis.server.start();
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count(2), 2);
  // A large result arrives in many TLS records.
  GuardOptions options;
  options.store = store;
  const auto large =
      idempotent("large", options, [this](int) { return std::string(500'000, 'x') + std::to_string(++runs_); });
  EXPECT_EQ(large(1), large(1));
  redis.server.stop();
  EXPECT_THAT(failure([&] { return count(3); }), HasSubstr("cannot be reached"));
}

TEST_F(RedisTls, OverTlsManyThreadsAreServed) {
  TlsRedis redis;
  const auto count = guarded(open_guard_store(redis.trusting("server")));
  std::vector<std::jthread> threads;
  std::atomic<int> differing = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int key = 0; key < 50; ++key) { differing += count(key) == count(key) ? 0 : 1; }
    });
  }
  threads.clear();
  EXPECT_EQ(differing.load(), 0);
  EXPECT_EQ(runs_.load(), 50);
}

TEST_F(RedisTls, AChildThatForksLeavesItsParentsTlsAlone) {
  TlsRedis redis;
  const auto count = guarded(open_guard_store(redis.trusting("server")));
  EXPECT_EQ(count(1), 1);
  const auto connections = [&redis] {
    const std::string line =
        output_of("redis-cli -s " + redis.server.socket() + " info stats | grep total_connections_received");
    return std::stoi(line.substr(line.find(':') + 1));
  };
  // The heartbeat's thread has just started. The sanitizer's allocator, unlike the C library's, does not survive a fork
  // while another thread is inside it; after this pause that thread sleeps.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const pid_t child = fork();
  if (child == 0) { _exit(count(1) == 1 && count(2) == 2 ? 0 : 1); }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const int before = connections();
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count(2), 2);
  EXPECT_EQ(runs_, 1) << "the second ran in the child";
  const int after = connections();
  EXPECT_EQ(after - before, 1) << "that of redis-cli: the parent goes on with its own";
}

TEST_F(RedisTls, ACertificateThatIsNotTrustedIsRefused) {
  TlsRedis redis;
  const std::string by_system = failure([&] { return open_guard_store(redis.url()); });
  EXPECT_THAT(by_system, HasSubstr("is not good: self-signed certificate"));
  EXPECT_THAT(by_system, HasSubstr("ca_file"));
  EXPECT_THAT(failure([&] { return open_guard_store(redis.trusting("other")); }), HasSubstr("is not good"));
  EXPECT_THAT(
      failure([&] { return open_guard_store("redis://127.0.0.1:" + std::to_string(redis.port) + "?timeout=5s"); }),
      HasSubstr("could not answer"));
}

TEST_F(RedisTls, AServerWithoutTlsIsNotSpokenToInPlain) {
  const int port = free_port();
  OwnRedis plain("bind 127.0.0.1 port " + std::to_string(port));
  EXPECT_THAT(failure([&] {
                return open_guard_store("rediss://:sesame@127.0.0.1:" + std::to_string(port) +
                                        "?timeout=300ms&connect_timeout=300ms");
              }),
              HasSubstr("cannot be reached"));
}

TEST_F(RedisTls, ACertificateOfAnotherHostIsRefused) {
  TlsRedis redis("other");
  EXPECT_THAT(failure([&] { return open_guard_store(redis.trusting("other")); }),
              HasSubstr("is not good: IP address mismatch"));
}

TEST_F(RedisTls, AServerThatAsksWhoWeAreIsTold) {
  TlsRedis redis("server", true);
  EXPECT_THAT(failure([&] { return open_guard_store(redis.trusting("server")); }), HasSubstr("rediss://127.0.0.1"));
  const auto count =
      guarded(open_guard_store(redis.trusting("server") + "&cert_file=" + redis.certificates.certificate("client") +
                               "&key_file=" + redis.certificates.key("client")));
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count(1), 1);
}

TEST_F(RedisTls, FilesOfCertificatesThatCannotBeUsedAreNamed) {
  const Certificates certificates;
  const auto refusal = [](const std::string& parameters) {
    try {
      (void)open_guard_store("rediss://127.0.0.1:1?" + parameters);
    } catch (const ConfigurationError& error) { return std::string(error.what()); }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(refusal("ca_file=/no/such.pem"), HasSubstr("the CA file /no/such.pem cannot be used"));
  EXPECT_THAT(refusal("ca_file=" + certificates.key("server")), HasSubstr("the CA file"));
  EXPECT_THAT(refusal("cert_file=/no/such.pem&key_file=" + certificates.key("client")), HasSubstr("certificate file"));
  EXPECT_THAT(refusal("cert_file=" + certificates.certificate("client") + "&key_file=" + certificates.key("other")),
              HasSubstr("the key file"));
}

}  // namespace hapax::guard_tests
