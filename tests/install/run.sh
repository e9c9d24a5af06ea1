#!/usr/bin/env bash
# run.sh SOURCE_FOLDER BUILD_FOLDER, in an empty folder: installs the built tree under a prefix here, then compiles a
# project that knows only find_package(hapax) with g++ and with clang++, and runs it. The program is the README's
# example byte for byte, so the first code that a reader copies is code that works.
set -euo pipefail

source_folder=${1:?source folder}
build_folder=${2:?build folder}
consumer=$source_folder/tests/install/consumer
readme=$source_folder/README.md

# The C++ block after the line <!-- example:readme -->.
awk '/^<!-- example:readme -->/ { marked = 1; next }
     marked && /^```cpp/ { inside = 1; next }
     inside && /^```/ { exit }
     inside { print }' "$readme" > example.cpp
if [[ ! -s example.cpp ]]; then
  echo "README.md has no \`\`\`cpp block after a line <!-- example:readme -->" >&2
  exit 1
fi
if ! diff -u --label README.md --label tests/install/consumer/main.cpp example.cpp "$consumer/main.cpp"; then
  echo "the README's example and tests/install/consumer/main.cpp differ; make them equal" >&2
  exit 1
fi

cmake --install "$build_folder" --prefix "$PWD/prefix" > install.log || { cat install.log; exit 1; }
# Debug information is a component of its own.
if [[ $(find prefix -name libhapax.a -size -25M | wc -l) -ne 1 ]]; then
  echo "the installed libhapax.a is not there, or has 25 MB or more" >&2
  exit 1
fi
test -x prefix/bin/hapax || { echo "the program was not installed" >&2; exit 1; }

for compiler in g++ clang++-16; do
  echo "== $compiler"
  command -v "$compiler" > /dev/null || { echo "$compiler is not installed" >&2; exit 1; }
  folder=build-$compiler
  cmake -G Ninja -S "$consumer" -B "$folder" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$PWD/prefix" \
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF > "$folder.log" 2>&1 || { cat "$folder.log"; exit 1; }
  cmake --build "$folder" || exit 1
  mkdir "run-$compiler"
  (cd "run-$compiler" && timeout 60 "../$folder/consumer") || { echo "the example failed with $compiler" >&2; exit 1; }
done
