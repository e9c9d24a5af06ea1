// The W3C trace context that a request carries to its handler.
#pragma once

#include <string>
#include <string_view>

namespace hapax::model {

// The W3C traceparent in the form of version 00: 00-<32 hex>-<16 hex>-<2 hex>. A later version is read by its first
// four fields; only its flag `sampled` is kept. Empty if malformed: a bad trace context never fails a request.
[[nodiscard]] std::string accepted_traceparent(std::string_view text);

}  // namespace hapax::model
