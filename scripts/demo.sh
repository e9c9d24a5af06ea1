#!/usr/bin/env bash
# demo.sh PROGRAM: what ./dev run shows. A SQLite store in ./hapax-demo.db (made anew each time), a load of which every
# request is sent twice, and shell workers that sometimes fail on the first attempt.
set -euo pipefail

program=$(realpath "${1:?path of the hapax program}")
store_file=${HAPAX_DEMO_STORE:-$PWD/hapax-demo.db}
orders=${HAPAX_DEMO_ORDERS:-300}
shown=${program#"$PWD/"}
export HAPAX_STORE_URL=sqlite:$store_file

worker=$(mktemp "${TMPDIR:-/tmp}/hapax-demo.XXXXXX")
trap 'rm -f "$worker"' EXIT
# Any program is a worker: the input is a line on standard input, the result is what it prints. One order in ten meets
# a busy card network on its first attempt (exit 75: try again), and one order has a card that is refused for good (65).
cat > "$worker" <<'WORKER'
#!/bin/sh
read -r input
number=${input#*:}
number=${number%%[,\}]*}
if [ "$number" -eq 13 ]; then echo "card refused" >&2; exit 65; fi
if [ "$HAPAX_ATTEMPT" -eq 1 ] && [ $((number % 10)) -eq 0 ]; then echo "the card network is busy" >&2; exit 75; fi
printf '{"payment":"%s"}\n' "$HAPAX_EFFECT_KEY"
WORKER
chmod +x "$worker"

rm -f "$store_file" "$store_file-wal" "$store_file-shm" "$store_file.lock"

load() {
  local number
  for ((number = 1; number <= orders; number++)); do
    printf '{"task":"charge_card","queue":"demo","input":{"order":%d},"task_id":"order-%d"}\n' "$number" "$number"
  done
}

echo "1. $orders payments are asked for, each of them twice, as an impatient customer would:"
{ load; load; } | "$program" enqueue --bulk -
echo
echo "2. A worker runs them: each program run is one attempt, failed ones are tried again:"
"$program" work --queue demo --exec "$worker" --concurrency 4 --until-empty
echo
echo "3. What became of them:"
"$program" queue list
echo
"$program" dlq list --queue demo
cat <<TEXT

Each order was charged once. One card was refused and waits in the dead letters. Try next:

  export HAPAX_STORE_URL=$HAPAX_STORE_URL
  $shown list --queue demo --limit 5
  $shown show --task charge_card --task-id order-10      # two attempts, one outcome
  $shown enqueue charge_card --queue demo --input '{"order":10}' --task-id order-10   # already done: its result
  $shown dlq retry --queue demo --yes
  $shown sql "SELECT status, count(*) FROM executions GROUP BY status"
  $shown --help
TEXT
