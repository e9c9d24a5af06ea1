// The first line of an answer.
#pragma once

#include <string>

namespace hapax::http {

// Appends "HTTP/1.1 404 Not Found" and a line end.
void append_status_line(std::string& out, int status);

}  // namespace hapax::http
