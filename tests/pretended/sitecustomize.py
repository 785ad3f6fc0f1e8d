"""Pretend a CPU in processes of a test run with --cpu; imported at Python's start (tests/cpus.py)."""

import os
from pathlib import Path

try:
    from nmt_frontier import cpu
except ImportError:  # a process of another project
    pass
else:
    cpu.CPUINFO = Path(os.environ["PRETENDED_CPUINFO"])
