#!/bin/sh
# As the shared tasks call it: run.sh HARDWARE TASK < source > target
# HARDWARE: CPU-ST (one core), CPU-MT (all cores), GPU. TASK: throughput, latency (a sentence at a time).
here=$(cd "$(dirname "$0")" && pwd)
export PYTHONPATH="$here/libraries" PYTHONDONTWRITEBYTECODE=1
export LD_LIBRARY_PATH="$here/libraries/nvidia/cublas/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec python3 "$here/translate.py" "$@"
