// Files with secrets in them: tokens, keys (SPEC X6).
#pragma once

#include <string>

namespace hapax::base {

// The bytes of a file that nobody but its owner may read or write. Throws ConfigurationError, beginning with the path, when
// it cannot be read, is no file, is over a mebibyte, or its mode lets others at it.
[[nodiscard]] std::string read_secret_file(const std::string& path);

// Adds a line to such a file, made with mode 0600 if it is not there, and waits until it is on the disk. Throws likewise.
void append_secret_line(const std::string& path, const std::string& line);

}  // namespace hapax::base
