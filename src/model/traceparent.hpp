// The W3C trace context that a request carries to its handler.
#pragma once

#include "model/new_execution.hpp"

#include <string>
#include <string_view>

namespace hapax::model {

// The W3C traceparent in the form of version 00: 00-<32 hex>-<16 hex>-<2 hex>. A later version is read by its first
// four fields; only its flag `sampled` is kept. Empty if malformed: a bad trace context never fails a request.
[[nodiscard]] std::string accepted_traceparent(std::string_view text);
// The W3C tracestate without blanks around it. Empty if it is malformed or has more than limits::tracestate_bytes.
[[nodiscard]] std::string accepted_tracestate(std::string_view text);
// Sets both, each as accepted; a tracestate without a traceparent means nothing and is dropped.
void set_trace(Labels& labels, std::string_view traceparent, std::string_view tracestate);

}  // namespace hapax::model
