#!/usr/bin/env bash
# run.sh ROOT BUILD: checks docs/reference/openapi.yaml with redocly and spectral, and compiles a client of its types
# under tsc --strict. The tools, in the versions of package-lock.json, are installed once into BUILD.
set -euo pipefail

root=$1
tools=$2/openapi_tools
here=$root/tests/openapi
description=$root/docs/reference/openapi.yaml

node -e 'if (Number(process.versions.node.split(".")[0]) < 18) { console.error(`node ${process.versions.node} is too old; expected 18 or later`); process.exit(1) }'
if ! cmp -s "$here/package-lock.json" "$tools/installed.json"; then
  mkdir -p "$tools"
  cp "$here/package.json" "$here/package-lock.json" "$tools"
  (cd "$tools" && npm ci --no-audit --no-fund --ignore-scripts --prefer-offline > npm.log 2>&1) || {
    tail -20 "$tools/npm.log" >&2
    echo "the tools of tests/openapi/package.json cannot be installed: npm ci needs a registry, or its cache" >&2
    exit 1
  }
  cp "$here/package-lock.json" "$tools/installed.json"
fi

# Neither tool looks for newer versions or sends telemetry.
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
"$tools/node_modules/.bin/redocly" lint --config "$here/redocly.yaml" "$description"
"$tools/node_modules/.bin/spectral" lint --ruleset "$here/spectral.yaml" --fail-severity warn "$description"

work=$(mktemp -d "${TMPDIR:-/tmp}/hapax-openapi.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp "$here/client.ts" "$work"
"$tools/node_modules/.bin/openapi-typescript" "$description" -o "$work/api.ts"
"$tools/node_modules/.bin/tsc" --strict --noEmit --target es2020 --module nodenext --moduleResolution nodenext "$work/client.ts" "$work/api.ts"
if grep -n 'Record<string, never>' "$work/api.ts" | grep -vE 'export type (webhooks|\$defs)' | grep -v 'application/json": Record<string, never>'; then
  echo "openapi.yaml has objects that say nothing of their members; expected properties or additionalProperties" >&2
  exit 1
fi
