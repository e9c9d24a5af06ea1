#!/usr/bin/env bash
# run.sh SOURCE_FOLDER: each case below must stop the compiler at the sentence that its first line expects, with g++ and
# clang++ (or the one that "// compiler:" names), and must compile with -DMENDED, which shows that nothing else stops
# it.
set -euo pipefail

source_folder=${1:?source folder}
failed=0
fail() { echo "$*" >&2; failed=$((failed + 1)); }

cases=0
for source in "$source_folder"/tests/compile_fail/*.cpp; do
  name=$(basename "$source" .cpp)
  expected=$(sed -n '1s,^// expect: ,,p' "$source")
  [[ -n $expected ]] || { fail "$name: its first line is not // expect: SENTENCE"; continue; }
  compilers=$(sed -n '2s,^// compiler: ,,p' "$source")
  for compiler in ${compilers:-g++ clang++-16}; do
    command -v "$compiler" > /dev/null || { fail "$compiler is not installed"; continue; }
    cases=$((cases + 1))
    compile=("$compiler" -std=c++20 -fsyntax-only -I"$source_folder/include")
    if ! "${compile[@]}" -DMENDED "$source" > mended.log 2>&1; then
      fail "$name, $compiler: the mended program does not compile"
      head -n 20 mended.log >&2
    fi
    if "${compile[@]}" "$source" > "broken.log" 2>&1; then
      fail "$name, $compiler: it compiles; expected: $expected"
      continue
    fi
    # A compiler may break the line of a long message, and quotes the source in its own style.
    if ! tr -s '\n ' ' ' < broken.log | grep -qF "$expected"; then
      fail "$name, $compiler: the message does not say: $expected"
      head -n 20 broken.log >&2
    fi
  done
done
echo "$cases compilations, $failed failed"
[[ $failed -eq 0 && $cases -gt 0 ]]
