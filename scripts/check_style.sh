#!/usr/bin/env bash
# The style rules that a machine can check. Prints each breach; exits 1 if there is one.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/.."

breaches=0
breach() { echo "$*"; breaches=$((breaches + 1)); }

while read -r file; do
  lines=$(wc -l < "$file")
  max_lines=500
  if [[ $file == src/* || $file == include/* ]]; then max_lines=400; fi
  if ((lines > max_lines)); then breach "$file: $lines lines; a file is one concept, at most $max_lines"; fi
  while read -r line; do breach "$file:$line: unfinished work belongs in an issue"; done \
    < <(grep -nE '\b(TODO|FIXME|XXX)\b' "$file" || true)
done < <(find src include tests bench examples -type f \( -name '*.cpp' -o -name '*.hpp' \) 2> /dev/null | sort)

# The public headers use the standard library, each other and one JSON header; asio.hpp is for Asio programs.
while read -r file; do
  while IFS=: read -r number line; do
    header=$(sed -E 's/.*[<"]([^>"]*)[>"].*/\1/' <<< "$line")
    case $header in
      hapax/* | nlohmann/json.hpp | nlohmann/json_fwd.hpp) ;;
      boost/asio*) [[ $file == */asio.hpp || $file == */detail/asio_completion.hpp ]] || breach "$file:$number: $header in a public header" ;;
      */* | *.h | *.hpp) breach "$file:$number: $header in a public header" ;;
    esac
  done < <(grep -nE '^[[:space:]]*#[[:space:]]*include' "$file" || true)
done < <(find include -type f -name '*.hpp' 2> /dev/null | sort)

while read -r file; do
  breach "$file: tests are never skipped; they fail when something they need is missing"
done < <(grep -rlE 'GTEST_SKIP|DISABLED_' tests --include='*.cpp' --include='*.hpp' 2> /dev/null || true)

# A reader has this repository alone: no file cites a specification or a design document, or one of their rules by its number.
# The brackets around single letters keep this file from finding itself.
while read -r place; do
  breach "$place: cites a document that is not in the repository; say the rule in words, or link a page of docs/"
done < <(grep -rInE '\b(SPE[C]|DESIG[N])\b|\([CDGILPRSVX][0-9]{1,2}\)|// [CDGILPRSVX][0-9]{1,2}:' --include='*.cpp' --include='*.hpp' \
  --include='*.py' --include='*.sh' --include='*.cmake' --include='*.md' --include='*.yaml' --include=CMakeLists.txt --exclude-dir=node_modules \
  src include tests bench examples docs scripts cmake packaging dev CMakeLists.txt ./*.md 2> /dev/null | sed -E 's/^([^:]+:[0-9]+):.*/\1/' | sort -V)

while read -r file; do
  breach "$file: a leftover of a merge"
done < <(find src include tests bench examples docs scripts -type f \( -name '*.orig' -o -name '*.rej' \) 2> /dev/null | sort)

if ((breaches > 0)); then
  echo "$breaches breaches" >&2
  exit 1
fi
