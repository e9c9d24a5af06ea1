#!/usr/bin/env bash
# A private Redis server in a folder of its own.
#
#   test_redis.sh create [SETTING VALUE]...   makes and starts a server, prints its folder; settings as in redis.conf
#   test_redis.sh start FOLDER                starts it (again)
#   test_redis.sh stop FOLDER                 stops it, by its process ID; its data stays
#   test_redis.sh environment FOLDER          NAME=value lines for the tests
#   test_redis.sh remove FOLDER               stops it and deletes the folder
#
# The server listens only on a socket in the folder, which other users cannot reach: no port, no network, unless a setting
# says otherwise.
set -euo pipefail

die() { echo "test_redis.sh: $*" >&2; exit 1; }

running() { # running FOLDER: its process id, if it runs
  local pid
  pid=$(cat "$1/pid" 2> /dev/null) || return 1
  [[ -n $pid && $(readlink "/proc/$pid/exe" 2> /dev/null) == *redis* ]] || return 1
  echo "$pid"
}

start() {
  local folder=$1 try
  redis-server "$folder/redis.conf" > /dev/null || die "redis-server did not start: $(tail -3 "$folder/log" 2> /dev/null)"
  for try in {1..200}; do
    if [[ -S $folder/redis.sock ]] && running "$folder" > /dev/null; then return; fi
    sleep 0.05
  done
  die "redis-server did not come up: $(tail -3 "$folder/log")"
}

stop() {
  local folder=$1 pid try
  pid=$(running "$folder") || return 0
  kill -CONT "$pid" 2> /dev/null || true
  kill "$pid"
  for try in {1..200}; do
    if ! running "$folder" > /dev/null; then return; fi
    sleep 0.05
  done
  kill -KILL "$pid"
}

create() {
  local folder
  command -v redis-server > /dev/null || die "no redis-server found: install the package redis-server"
  folder=$(mktemp -d "${TMPDIR:-/tmp}/hapax-redis.XXXXXX")
  # A socket's path must stay below 107 bytes, whatever TMPDIR is.
  if [[ ${#folder} -gt 80 ]]; then rmdir "$folder"; folder=$(mktemp -d /tmp/hapax-redis.XXXXXX); fi
  cat > "$folder/redis.conf" <<SETTINGS
port 0
unixsocket $folder/redis.sock
unixsocketperm 700
dir $folder
daemonize yes
pidfile $folder/pid
logfile $folder/log
appendonly yes
appendfsync everysec
save ""
enable-debug-command local
SETTINGS
  while [[ $# -ge 2 ]]; do echo "$1 $2" >> "$folder/redis.conf"; shift 2; done
  start "$folder" || { rm -rf "$folder"; exit 1; }
  echo "$folder"
}

case ${1:-} in
  create) shift; create "$@" ;;
  start) start "${2:?start needs a folder}" ;;
  stop) stop "${2:?stop needs a folder}" ;;
  environment) echo "HAPAX_TEST_REDIS_URL=redis+unix://${2:?environment needs a folder}/redis.sock" ;;
  remove) stop "${2:?remove needs a folder}"; rm -rf "$2" ;;
  *) die "expected create, start, stop, environment or remove" ;;
esac
