#!/usr/bin/env bash
# parts.sh SOURCE_FOLDER, in an empty folder: builds and installs hapax without PostgreSQL, Redis and the server, as on
# a machine that has neither libpq nor hiredis. A program on SQLite then builds and runs, links neither library, and
# gets Unsupported with the name of the missing part. Nothing here is measured, so the compiler need not optimise.
set -euo pipefail

source_folder=${1:?source folder}
consumer=$source_folder/tests/install/parts

# Hides the libraries of the parts that are switched off.
hidden=(-DCMAKE_DISABLE_FIND_PACKAGE_PostgreSQL=ON -DCMAKE_DISABLE_FIND_PACKAGE_Hiredis=ON)
cmake -G Ninja -S "$source_folder" -B build -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O0 -DNDEBUG" -DHAPAX_BUILD_TESTS=OFF -DHAPAX_BUILD_BENCH=OFF -DHAPAX_BUILD_EXAMPLES=OFF \
  -DHAPAX_WITH_POSTGRES=OFF -DHAPAX_WITH_REDIS=OFF -DHAPAX_WITH_SERVER=OFF "${hidden[@]}" > configure.log 2>&1 ||
  { cat configure.log; exit 1; }
cmake --build build > build.log || { tail -n 40 build.log; exit 1; }
if [[ -e build/hapax ]]; then echo "the program was built though HAPAX_WITH_SERVER is OFF" >&2; exit 1; fi
cmake --install build --prefix "$PWD/prefix" > install.log || { cat install.log; exit 1; }

cmake -G Ninja -S "$consumer" -B use -DCMAKE_PREFIX_PATH="$PWD/prefix" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF "${hidden[@]}" \
  > use.log 2>&1 || { cat use.log; exit 1; }
cmake --build use || exit 1
needed=$(readelf -d use/parts | grep NEEDED)
if grep -E 'libpq|hiredis' <<< "$needed"; then echo "a program on SQLite alone links them" >&2; exit 1; fi
timeout 60 use/parts
