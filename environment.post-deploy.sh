#!/usr/bin/env bash
# Snakemake runs this after it has made a conda environment of environment.yml (snakemake --sdm conda).
set -euo pipefail
pip install --no-deps --require-hashes -r requirements.lock
pip install --no-deps --no-build-isolation --editable .
python engine/build.py
