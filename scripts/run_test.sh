#!/usr/bin/env bash
# run_test.sh [--fresh-folder] [--postgres | --pgbouncer | --own-postgres] [--redis] PROGRAM [ARGUMENT...]
# Runs each ctest entry. A test that needs a server fails here, with the reason, if there is none; --own-postgres starts a
# server for this test alone, with fsync on.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
fresh_folder=no
own_postgres=no

need() { # need VARIABLE
  if [[ -n ${!1:-} ]]; then return; fi
  echo "$1 is not set: run ./dev test, or ./dev servers in another terminal and export what it prints" >&2
  exit 1
}

while [[ ${1:-} == --* ]]; do
  case $1 in
    --fresh-folder) fresh_folder=yes ;;
    --own-postgres) own_postgres=yes ;;
    --redis) need HAPAX_TEST_REDIS_URL ;;
    --postgres) need HAPAX_TEST_POSTGRES_URL ;;
    --pgbouncer)
      need HAPAX_TEST_PGBOUNCER_URL
      export HAPAX_TEST_POSTGRES_URL=$HAPAX_TEST_PGBOUNCER_URL ;;
    *) echo "run_test.sh: unknown option $1" >&2; exit 64 ;;
  esac
  shift
done

if [[ $fresh_folder == no && $own_postgres == no ]]; then exec "$@"; fi

folder=
servers=
child=
clean() {
  if [[ -n $child ]]; then kill "$child" 2> /dev/null || true; wait "$child" 2> /dev/null || true; fi
  if [[ -n $servers ]]; then "$here/test_postgres.sh" remove "$servers"; fi
  if [[ -n $folder ]]; then rm -rf "$folder"; fi
}
trap clean EXIT
trap 'exit 130' INT TERM HUP

if [[ $own_postgres == yes ]]; then
  servers=$("$here/test_postgres.sh" create --durable)
  set -a
  source <("$here/test_postgres.sh" environment "$servers" | sed "s/=\(.*\)/='\1'/")
  set +a
fi
if [[ $fresh_folder == yes ]]; then
  folder=$(mktemp -d "${TMPDIR:-/tmp}/hapax-test.XXXXXX")
  cd "$folder"
fi
# ctest ends a test that is too slow with SIGKILL, which would leave the server running, so this limit comes first.
limit=()
if [[ $own_postgres == yes ]]; then limit=(timeout --kill-after=10 560); fi
# In the background, so that a signal is handled at once and the servers do not outlive the test.
"${limit[@]}" "$@" < /dev/null &
child=$!
status=0
wait "$child" || status=$?
child=
exit "$status"
