#!/usr/bin/env bash
# A private PostgreSQL cluster with a transaction-mode pgbouncer in front of it, in a folder of their own.
#
#   test_postgres.sh create [--durable]          makes and starts a cluster, prints its folder; --durable: fsync on
#   test_postgres.sh start FOLDER                starts it (again)
#   test_postgres.sh stop FOLDER [fast|immediate]
#   test_postgres.sh pgbouncer FOLDER            starts a pooler in front of it
#   test_postgres.sh url|pgbouncer-url FOLDER    a superuser's URL
#   test_postgres.sh environment FOLDER          NAME=value lines for the tests
#   test_postgres.sh remove FOLDER               stops both and deletes the folder
#
# The cluster listens on loopback and on a socket in the folder, with a random password, so that no other user of the
# machine can become its superuser. PostgreSQL refuses to run as root, so root's clusters belong to the user postgres.
set -euo pipefail

die() { echo "test_postgres.sh: $*" >&2; exit 1; }

as_owner() {
  if [[ $EUID -eq 0 ]]; then runuser -u postgres -- "$@"; else "$@"; fi
}

find_binaries() {
  local found
  found=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -1)
  if [[ -x /usr/lib/postgresql/15/bin/initdb ]]; then found=/usr/lib/postgresql/15/bin; fi
  if [[ -z $found ]]; then die "no PostgreSQL server found under /usr/lib/postgresql: install postgresql-15"; fi
  echo "$found"
}

port_is_free() { ! (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }

free_port() {
  local port try
  for try in {1..50}; do
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    if port_is_free "$port"; then echo "$port"; return; fi
  done
  die "no free loopback port found"
}

create() {
  local folder fsync=off
  if [[ ${1:-} == --durable ]]; then fsync=on; fi
  folder=$(mktemp -d "${TMPDIR:-/tmp}/hapax-pg.XXXXXX")
  # A socket's path must stay below 107 bytes, whatever TMPDIR is, and the owner must be able to reach the folder.
  if [[ ${#folder} -gt 70 ]]; then rmdir "$folder"; folder=$(mktemp -d /tmp/hapax-pg.XXXXXX); fi
  trap 'remove "$folder"; exit 130' INT TERM HUP
  if [[ $EUID -eq 0 ]]; then chown postgres "$folder"; fi
  as_owner test -w "$folder" || { rm -rf "$folder"; die "the user postgres can't reach $folder: set TMPDIR to a folder it can"; }
  (umask 077; od -An -N16 -tx1 /dev/urandom | tr -d ' \n' > "$folder/password")
  if [[ $EUID -eq 0 ]]; then chown postgres "$folder/password"; fi
  as_owner "$(find_binaries)/initdb" -D "$folder/data" -U postgres --pwfile="$folder/password" --auth=md5 \
    --encoding=UTF8 --locale=C.UTF-8 --no-sync > "$folder/initdb.log" 2>&1 ||
    { cat "$folder/initdb.log" >&2; rm -rf "$folder"; die "initdb failed"; }
  as_owner tee -a "$folder/data/postgresql.conf" > /dev/null <<SETTINGS
listen_addresses = '127.0.0.1'
unix_socket_directories = '$folder'
max_connections = 400
max_locks_per_transaction = 256
max_wal_size = 2GB
timezone = 'UTC'
jit = off
fsync = $fsync
full_page_writes = $fsync
SETTINGS
  local try
  for try in {1..5}; do
    free_port > "$folder/port"
    if start "$folder" quiet; then echo "$folder"; return; fi
  done
  tail -20 "$folder/postgres.log" >&2
  rm -rf "$folder"
  die "PostgreSQL did not start"
}

start() {
  local folder=$1 quiet=${2:-}
  as_owner "$(find_binaries)/pg_ctl" -D "$folder/data" -w -t 60 -l "$folder/postgres.log" \
    -o "-p $(< "$folder/port")" start > /dev/null 2>&1 && return
  if [[ -z $quiet ]]; then tail -20 "$folder/postgres.log" >&2; die "PostgreSQL did not start in $folder"; fi
  return 1
}

stop() {
  local folder=$1 mode=${2:-fast}
  if [[ ! -f $folder/data/postmaster.pid ]]; then return; fi
  as_owner "$(find_binaries)/pg_ctl" -D "$folder/data" -w -t 60 -m "$mode" stop > /dev/null
}

start_pgbouncer() {
  local folder=$1 program try
  program=$(command -v pgbouncer || echo /usr/sbin/pgbouncer)
  if [[ ! -x $program ]]; then die "pgbouncer is not installed"; fi
  for try in {1..5}; do
    free_port > "$folder/pgbouncer.port"
    (umask 077; printf '"postgres" "%s"\n' "$(< "$folder/password")" > "$folder/users.txt"
      cat > "$folder/pgbouncer.ini" <<SETTINGS
[databases]
* = host=127.0.0.1 port=$(< "$folder/port")
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $(< "$folder/pgbouncer.port")
unix_socket_dir =
auth_type = md5
auth_file = $folder/users.txt
pool_mode = transaction
default_pool_size = 40
max_client_conn = 400
ignore_startup_parameters = extra_float_digits
logfile = $folder/pgbouncer.log
pidfile = $folder/pgbouncer.pid
SETTINGS
    )
    if [[ $EUID -eq 0 ]]; then chown postgres "$folder/users.txt" "$folder/pgbouncer.ini"; fi
    as_owner "$program" -q -d "$folder/pgbouncer.ini" > /dev/null 2>&1 || continue
    for _ in {1..100}; do
      if ! port_is_free "$(< "$folder/pgbouncer.port")"; then return; fi
      sleep 0.05
    done
  done
  tail -20 "$folder/pgbouncer.log" >&2
  die "pgbouncer did not start"
}

url() { echo "postgresql://postgres:$(< "$1/password")@127.0.0.1:$(< "$1/port")/postgres"; }

# Debian's pgbouncer 1.18 does not support prepared statements in transaction mode; prepared=off tells the store so.
pgbouncer_url() {
  echo "postgresql://postgres:$(< "$1/password")@127.0.0.1:$(< "$1/pgbouncer.port")/postgres?prepared=off"
}

environment() {
  echo "HAPAX_TEST_POSTGRES_URL=$(url "$1")"
  echo "HAPAX_TEST_POSTGRES_FOLDER=$1"
  echo "HAPAX_TEST_POSTGRES_CONTROL=$(realpath "$0")"
  if [[ -f $1/pgbouncer.pid ]]; then echo "HAPAX_TEST_PGBOUNCER_URL=$(pgbouncer_url "$1")"; fi
}

remove() {
  local folder=$1
  if [[ -f $folder/pgbouncer.pid ]]; then kill "$(< "$folder/pgbouncer.pid")" 2> /dev/null || true; fi
  stop "$folder" immediate 2> /dev/null || true
  rm -rf "$folder"
}

command=${1:-}
if [[ $command != create && ! ( -n ${2:-} && -d ${2:-} ) ]]; then
  sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
  exit 64
fi
shift
case $command in
  create | start | stop | url | environment | remove) "$command" "$@" ;;
  pgbouncer) start_pgbouncer "$@" ;;
  pgbouncer-url) pgbouncer_url "$@" ;;
  *) die "unknown command $command" ;;
esac
