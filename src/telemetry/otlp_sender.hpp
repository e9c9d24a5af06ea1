// OtlpSender: posts JSON to a collector.
//
// One thread. A connection for each request: a collector gets few, and an idle connection would have to be watched.
#pragma once

#include <hapax/time.hpp>

#include "base/stream.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax::telemetry {

class OtlpSender {
 public:
  // Throws ConfigurationError for what cannot be used, without showing a header's value.
  OtlpSender(std::string_view url, const std::vector<std::pair<std::string, std::string>>& headers,
             const std::string& ca_file);

  enum class Answer {
    taken,
    later,    // no connection, no answer in time, or a status that asks to try again
    refused,  // the collector will never take it
  };
  // Takes at most about three times `timeout`, beside the look-up of the host's name. `error` gets the reason of any
  // other answer than `taken`.
  [[nodiscard]] Answer post(std::string_view path, const std::string& body, Duration timeout, std::string& error) const;

 private:
  std::string shown_;  // scheme, host and port
  std::string prefix_;
  std::string authority_;
  std::string headers_;
  base::StreamPeer peer_;
  std::unique_ptr<base::TlsContext> tls_;
};

}  // namespace hapax::telemetry
