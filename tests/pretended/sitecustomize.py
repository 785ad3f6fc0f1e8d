"""Pretend a CPU in the processes of a test run with --cpu: Python imports this when it starts (tests/cpus.py)."""

import os
from pathlib import Path

try:
    from common import cpu
except ImportError:  # a process of another project
    pass
else:
    cpu.CPUINFO = Path(os.environ["PRETENDED_CPUINFO"])
