// Bulk enqueue from NDJSON (SPEC D11): read, checked and admitted in batches, each batch atomic.
#pragma once

#include "cli/shell.hpp"
#include "wire/request.hpp"

#include <string>

namespace hapax::cli {

struct BulkOptions {
  std::string path;        // - for standard input
  RequestFields defaults;  // for members a line leaves out
  bool each = false;       // print every admission
};

// Stops at the first line that cannot be taken, before the batch it belongs to is written; the error names the line and
// how many were admitted before. Returns exit_conflict when some lines were refused for their key or a draining queue.
int enqueue_bulk(Shell& shell, const BulkOptions& options);

}  // namespace hapax::cli
