// Bulk enqueue from NDJSON: lines are read, checked and admitted in batches, each batch atomic.
#pragma once

#include "cli/admitting.hpp"
#include "cli/shell.hpp"

#include <string>

namespace hapax::cli {

struct BulkOptions {
  std::string path;       // - for standard input
  AdmitOptions defaults;  // for members that a line leaves out
  bool each = false;      // print every admission
};

// Stops at the first invalid line, before the batch of that line is written; the error names the line and the number of
// lines admitted before. Returns exit_conflict when lines were refused for their key or a draining queue.
int enqueue_bulk(Shell& shell, const BulkOptions& options);

}  // namespace hapax::cli
