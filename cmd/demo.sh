#!/bin/sh
# The main job, end to end: a trace in Parquet becomes decisions on NATS.
# Run by `make demo`; YARDMASTER, DEMO and TRACE come from the Makefile.
set -eu

mkdir -p "$DEMO"
run=$DEMO/run
if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); else bold='' plain=''; fi
say() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; }
do_() { say "$@"; "$@"; }

if [ -z "$TRACE" ]; then
	trace=$DEMO/jobs.parquet
	do_ "$YARDMASTER" trace synth --preset gavel --jobs 20000 --seed 1 --out "$trace"
else
	case $TRACE in
	*.parquet) trace=$TRACE ;;
	*)
		trace=$DEMO/imported.parquet
		do_ "$YARDMASTER" trace import "$TRACE" --out "$trace"
		;;
	esac
fi
do_ "$YARDMASTER" trace describe "$trace"
do_ "$YARDMASTER" train --trace "$trace" --out "$run" --force
do_ "$YARDMASTER" bench --run "$run"

# The service listens on a free port of 127.0.0.1 and writes its address to a file.
rm -f "$DEMO/nats.url"
say "$YARDMASTER serve --run $run --store $DEMO/store --port 0 --url-file $DEMO/nats.url &"
"$YARDMASTER" serve --run "$run" --store "$DEMO/store" --port 0 --url-file "$DEMO/nats.url" 2>"$DEMO/serve.log" &
service=$!
trap 'kill "$service" 2>/dev/null || true' EXIT INT TERM
tries=0
while [ ! -s "$DEMO/nats.url" ]; do
	kill -0 "$service" 2>/dev/null || { echo "the service did not start:"; cat "$DEMO/serve.log"; exit 1; }
	tries=$((tries + 1))
	[ "$tries" -lt 300 ] || { echo "the service did not answer within 30 s:"; cat "$DEMO/serve.log"; exit 1; }
	sleep 0.1
done
do_ "$YARDMASTER" replay --run "$run" --nats "$(cat "$DEMO/nats.url")" --verify
