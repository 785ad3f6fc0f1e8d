"""A real Slurm of one node, this machine, in a folder: controller, node daemon and munge, without systemd."""

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "squeue", "scancel", "munged")
# Where all programs look for it: the executor does not pass SLURM_CONF on to the steps of its jobs.
FILE = Path("/etc/slurm/slurm.conf")
CONFIGURATION = """\
# of tests/slurm.py
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={node_port}
AuthType=auth/munge
# A job that is put back in the queue waits as long as a credential lives.
AuthInfo=socket={folder}/munge.socket,cred_expire=10
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
# Without cgroups, which a container may not make: the memory of a job is looked at every second.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=5
AccountingStorageType=accounting_storage/none
MinJobAge=3600
JobFileAppend=1
KillWait=10
ReturnToService=2
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """Why Slurm cannot be started here; None if it can."""
    # The daemons are in /usr/sbin, which is not in the path of every user.
    if programs := [name for name in PROGRAMS if not _path(name)]:
        return f"{', '.join(programs)} not found; `make test-cluster` installs Slurm as root on Debian"
    if FILE.exists() and not FILE.read_text().startswith(CONFIGURATION.splitlines()[0]):
        return f"{FILE} is of another Slurm"
    return None if os.geteuid() == 0 else "Slurm's daemons run as root"


def _path(name):
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


class Slurm:
    """A running Slurm, whose files are in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def call(self, *command):
        """The output of one of Slurm's commands."""
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def jobs(self):
        """Of every job so far: number, state, and the comment of the executor, such as the rule."""
        lines = self.call("squeue", "--noheader", "--states=all", "--format", "%i|%T|%k").splitlines()
        return [line.split("|") for line in lines]

    def start(self, name):
        subprocess.run([_path(name), *(["-c"] if name == "slurmd" else [])], check=True)

    def stop(self, name):
        """End one of the daemons, and wait until it has ended."""
        with suppress(OSError, ValueError):
            process = int((self.folder / f"{name}.pid").read_text())
            os.kill(process, signal.SIGTERM)
            while Path(f"/proc/{process}").exists():
                time.sleep(0.1)


@contextmanager
def slurm(folder):
    """Start Slurm in a folder with a short path, as the names of sockets are limited; end it afterwards."""
    host = socket.gethostname().split(".")[0]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 - 1000
    port, node_port = _free_ports(2)
    values = {"host": host, "port": port, "node_port": node_port, "folder": folder, "user": "root"}
    values |= {"cpus": os.cpu_count(), "memory": memory}
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(CONFIGURATION.format(**values))
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    munge = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    options = [f"--{option}={folder}/munge.{ending}" for option, ending in munge.items()]
    subprocess.run([_path("munged"), "--force", *options], check=True, capture_output=True)
    running = Slurm(folder)
    try:
        for name in ("slurmctld", "slurmd"):
            running.start(name)
        deadline = time.monotonic() + 60
        while "idle" not in running.call("sinfo", "--noheader", "--format", "%T"):
            assert time.monotonic() < deadline, (folder / "slurmctld.log").read_text()[-3000:]
            time.sleep(0.5)
        yield running
    finally:
        for name in ("slurmctld", "slurmd", "munge"):
            running.stop(name)
        FILE.unlink()


def _free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
