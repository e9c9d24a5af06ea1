// W3C trace context (SPEC V2): what hapax hands on of a traceparent. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace hapax::model {

// The traceparent as version 00 writes it: 00-<32 hex>-<16 hex>-<2 hex>. A later version is read by its first four fields,
// of whose flags only `sampled` is known. Empty for what is malformed: trace context never refuses work.
[[nodiscard]] std::string accepted_traceparent(std::string_view text);

}  // namespace hapax::model
