// Every bound on input from the network, in one place.
#pragma once

#include "base/payload_limit.hpp"

#include <algorithm>
#include <cstddef>

namespace hapax::limits {

inline constexpr std::size_t http_target_bytes = 8 << 10;
inline constexpr std::size_t http_headers = 100;
inline constexpr std::size_t http_header_bytes = 16 << 10;  // all of them together
// A JSON body or one line of NDJSON: a payload with its escapes and the fields around it.
inline std::size_t http_body() { return std::max(2 * base::payload_limit(), std::size_t{2} << 20); }
inline constexpr std::size_t http_stream = std::size_t{4} << 30;  // all lines of NDJSON together
inline constexpr std::size_t http_skipped_body = 64 << 10;        // an unread body, before the connection ends
inline constexpr std::size_t http_chunk_line = 256;               // a chunk's size and extensions
inline constexpr std::size_t http_trailer_bytes = 4 << 10;        // after the last chunk; ignored
inline constexpr std::size_t http_slowest = 1 << 10;              // bytes per second

}  // namespace hapax::limits
