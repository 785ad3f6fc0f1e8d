#!/bin/sh
# As the shared tasks call it: run.sh HARDWARE TASK < source > target
# HARDWARE: CPU-ST (one core), CPU-MT (all cores). TASK: throughput, latency (a sentence at a time).
here=$(cd "$(dirname "$0")" && pwd)
damaged=$(cd "$here/model" && sha256sum -c SHA256SUMS 2> /dev/null | grep -v ': OK$')
if [ -n "$damaged" ]; then
    echo "error: $here/model: damaged, or not the one this model was exported with: $damaged" >&2
    exit 1
fi
exec "$here/translate" "$here/model" "$@"
