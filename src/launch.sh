# Sourced by the shell that starts main.ts: runs it by Node.js, which cannot set these limits for itself, and of which an older
# version cannot even read main.ts.

version=$(node --version 2>&1)
case $version in
  v2[4-9].* | v[3-9][0-9].*) ;;
  *)
    echo "Node.js 24 or newer is required, and PATH has: $version. Run make install, then: export PATH=\$PWD/node_modules/.bin:\$PATH" >&2
    exit 1
    ;;
esac

# Half of these threads may look up names (libuv): twelve names that no server answers leave the next one waiting, not two.
export UV_THREADPOOL_SIZE="${UV_THREADPOOL_SIZE:-24}"

# NODE_OPTIONS comes later and wins. Without --heap-growing-percent V8 collects only after 200 MB of garbage, with
# --max-old-space-size alone all the time; 1 GB leaves room for 16 MB of JSON, and each arena of malloc would add 8 MB.
if [ "${1:-serve}" = serve ]; then
  export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-1}"
  export NODE_OPTIONS="--max-semi-space-size=16 --max-old-space-size=1024 $NODE_OPTIONS"
  set -- --heap-growing-percent=130 "$0" "$@"
else
  set -- "$0" "$@"
fi
[ $$ = 1 ] || exec node "$@"

# Process 1 of a container ignores signals without a handler: Node.js would miss those of its first moments, so the shell stays
# and passes signals on.
exec 3<&0
node "$@" <&3 3<&- &
# Until it runs Node.js, the child has a copy of the handler above, which would swallow the signal.
while [ "/proc/$!/exe" -ef "/proc/$$/exe" ]; do sleep 0.01; done
node=$!
[ "$stop" ] && kill -TERM "$node"
while kill -0 "$node" 2>/dev/null; do
  wait "$node"
  code=$?
done
exit "$code"
