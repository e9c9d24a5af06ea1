// The first line of an answer.
#pragma once

#include <string>

namespace hapax::server {

// "HTTP/1.1 404 Not Found" and its end.
void append_status_line(std::string& out, int status);

}  // namespace hapax::server
