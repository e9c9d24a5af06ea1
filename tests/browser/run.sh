#!/usr/bin/env bash
# run.sh BUILD: the browser tests. Their packages, in the versions of package-lock.json, are installed once into BUILD; the
# browser is Debian's chromium (HAPAX_CHROMIUM names another). HAPAX_BIN is the program under test.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
tools=$1/browser_tests

node -e 'if (Number(process.versions.node.split(".")[0]) < 18) { console.error(`node ${process.versions.node} is too old; expected 18 or later`); process.exit(1) }'
mkdir -p "$tools"
if ! cmp -s "$here/package-lock.json" "$tools/installed.json"; then
  cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$tools"
  (cd "$tools" && npm ci --no-audit --no-fund --ignore-scripts --prefer-offline > npm.log 2>&1) || {
    tail -20 "$tools/npm.log" >&2
    echo "the packages of tests/browser/package.json cannot be installed: npm ci needs a registry, or its cache" >&2
    exit 1
  }
  cp "$here/package-lock.json" "$tools/installed.json"
fi
# The tests are run from a copy, as imports are looked up beside the importing file.
rm -f "$tools"/*.mjs
cp "$here"/*.mjs "$tools"
exec node --test --test-concurrency=1 "$tools"/*_test.mjs
