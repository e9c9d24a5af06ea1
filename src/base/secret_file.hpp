// Files that hold secrets: tokens, keys.
#pragma once

#include <string>

namespace hapax::base {

// The bytes of a file that only its owner may read or write. Throws ConfigurationError, beginning with the path, when
// the file cannot be read, is not a regular file, is over one MiB, or its mode gives others access.
[[nodiscard]] std::string read_secret_file(const std::string& path);

// Appends a line to such a file, created with mode 0600 if it does not exist, and returns when the line is on disk.
// Throws as read_secret_file does.
void append_secret_line(const std::string& path, const std::string& line);

}  // namespace hapax::base
