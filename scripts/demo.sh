#!/usr/bin/env bash
# demo.sh PROGRAM: the script behind `./dev run`. Starts the server on a new SQLite store (./hapax-demo.db), a load in which every
# request is sent twice, shell workers that sometimes fail on the first attempt, and a new order every second until
# Ctrl-C or SIGTERM. The port is HAPAX_DEMO_PORT (7171), or a free one if that is taken.
set -euo pipefail

program=$(realpath "${1:?path of the hapax program}")
store_file=${HAPAX_DEMO_STORE:-$PWD/hapax-demo.db}
port=${HAPAX_DEMO_PORT:-7171}
orders=${HAPAX_DEMO_ORDERS:-300}
shown=${program#"$PWD/"}
export HAPAX_STORE_URL=sqlite:$store_file

folder=$(mktemp -d "${TMPDIR:-/tmp}/hapax-demo.XXXXXX")
server=
worker=
child=
stop() {
  trap '' INT TERM HUP
  local pid
  for pid in $child $worker $server; do kill "$pid" 2> /dev/null || true; done
  for pid in $child $worker $server; do wait "$pid" 2> /dev/null || true; done
  rm -rf "$folder"
}
trap stop EXIT
# Written to the script's own output, even while a command's output is redirected.
exec 3>&1
trap 'printf "\nStopped. The store is still there: export HAPAX_STORE_URL=%s\n" "$HAPAX_STORE_URL" >&3; exit 0' INT TERM HUP

# A trap waits for a command in the foreground, but not for `wait`.
run() {
  local status=0
  "$@" &
  child=$!
  wait "$child" || status=$?
  child=
  return "$status"
}

# Any program is a worker: it reads the input as a line on standard input and prints the result. One order in ten meets
# a busy card network on its first attempt (exit 75: try again), and one order has a card that is refused for good (65).
cat > "$folder/charge.sh" <<'WORKER'
#!/bin/sh
read -r input
number=${input#*:}
number=${number%%[,\}]*}
if [ "$number" -eq 13 ]; then echo "card refused" >&2; exit 65; fi
if [ "$HAPAX_ATTEMPT" -eq 1 ] && [ $((number % 10)) -eq 0 ]; then echo "the card network is busy" >&2; exit 75; fi
printf '{"payment":"%s"}\n' "$HAPAX_EFFECT_KEY"
WORKER
chmod +x "$folder/charge.sh"

rm -f "$store_file" "$store_file-wal" "$store_file-shm" "$store_file.lock"

# start_server PORT: sets address. Returns 1 if the server has ended instead of listening.
start_server() {
  "$program" serve --listen "127.0.0.1:$1" --log errors > "$folder/address" 2> "$folder/log" < /dev/null &
  server=$!
  while ! grep -q '^listening on ' "$folder/address"; do
    if ! kill -0 "$server" 2> /dev/null; then server=; return 1; fi
    run sleep 0.05
  done
  address=$(sed 's/^listening on //' "$folder/address")
}

if ! start_server "$port"; then
  if ! grep -qi 'in use' "$folder/log"; then cat "$folder/log" >&2; exit 1; fi
  echo "Port $port is taken; the server listens on a free one instead."
  start_server 0 || { cat "$folder/log" >&2; exit 1; }
fi

orders_twice() { # orders_twice FIRST LAST
  local number round
  for round in 1 2; do
    for ((number = $1; number <= $2; number++)); do
      printf '{"task":"charge_card","queue":"demo","input":{"order":%d},"task_id":"order-%d"}\n' "$number" "$number"
    done
  done > "$folder/orders"
}

echo "The dashboard: $address/"
echo "The server listens on $address, on the store ${store_file#"$PWD/"}."
echo
echo "1. $orders payments are asked for, each of them twice, as an impatient customer would:"
orders_twice 1 "$orders"
run "$program" enqueue --bulk "$folder/orders"
echo
echo "2. A worker runs them: each program run is one attempt, failed ones are tried again:"
run "$program" work --queue demo --exec "$folder/charge.sh" --concurrency 4 --until-empty
echo
echo "3. What became of them:"
run "$program" queue list
"$program" work --queue demo --exec "$folder/charge.sh" --concurrency 2 > "$folder/worker" 2>&1 < /dev/null &
worker=$!
cat <<TEXT

Each order was charged once; one card was refused and waits in the dead letters. A worker stays, and a new order comes
every second. Try in another terminal:

  curl -s $address/v1/queues/demo
  curl -s $address/v1/tasks/charge_card/executions -H 'Content-Type: application/json' -d '{"queue":"demo","input":{"order":7000},"idempotency_key":"order-7000"}'
  curl -sN $address/v1/stream

The second one sent again is told that it was done, with its result. With the program instead of curl:

  export HAPAX_STORE_URL=$HAPAX_STORE_URL
  $shown top
  $shown show --task charge_card --task-id order-10      # two attempts, one outcome
  $shown dlq retry --queue demo --yes
  $shown --help

Ctrl-C ends it.
TEXT

for ((number = orders + 1; ; number++)); do
  for process in "$server" "$worker"; do
    if ! kill -0 "$process" 2> /dev/null; then
      echo "The server or the worker has ended:" >&2
      cat "$folder/log" "$folder/worker" >&2
      exit 1
    fi
  done
  orders_twice "$number" "$number"
  run "$program" enqueue --bulk "$folder/orders" > /dev/null
  run sleep 1
done
