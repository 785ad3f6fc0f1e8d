#!/bin/sh
# As the shared tasks call it: run.sh HARDWARE TASK < source > target
# HARDWARE: CPU-ST (one core), CPU-MT (all cores), GPU. TASK: throughput, latency (a sentence at a time).
exec python3 "$(dirname "$0")/translate.py" "$@"
