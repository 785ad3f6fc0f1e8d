"""Jobs on the nodes of a cluster: how long they take if each starts as soon as what it needs is there."""

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from common.errors import UserError
from formats.prices import Price


class Node(NamedTuple):
    """A machine of the cluster; all are alike."""

    cores: int
    gpus: int
    usd_per_hour: float

    @classmethod
    def of(cls, price: Price) -> "Node":
        return cls(price["cores"], price.get("gpus", 0), price["usd_per_hour"])


class Jobs(NamedTuple):
    """Equal jobs, which start when all jobs of the groups in ``after`` have ended.

    seconds: of each. cores: that each reserves; None for a node of its own. after: names of groups.
    """

    name: str
    stage: str
    number: int
    seconds: float
    cores: int | None = 1
    gpus: int = 0
    after: Sequence[str] = ()

    def share(self, node: Node) -> float:
        """The part of a node that each job takes from the others. Raises UserError if a node has too little."""
        if self.gpus > node.gpus or (self.cores or 0) > node.cores:
            needs = f"{self.cores} cores and {self.gpus} GPUs"
            raise UserError(
                f"{self.name} needs {needs}, the node has {node.cores} and {node.gpus}; give another --node"
            )
        return max((self.cores or node.cores) / node.cores, self.gpus / node.gpus if self.gpus else 0.0)


class _Cluster:
    """Nodes with what is free on them, and the groups that wait."""

    def __init__(self, groups: Sequence[Jobs], node: Node, nodes: int):
        self._node, self._free = node, [[node.cores, node.gpus] for _ in range(nodes)]
        names = {group.name for group in groups}
        self._groups = sorted(groups, key=lambda group: -group.seconds)  # the longest first
        self._waits = {group.name: names.intersection(group.after) for group in groups}
        self._unstarted = {group.name: group.number for group in groups}
        self._unended = dict(self._unstarted)
        self._running: list[tuple[float, int, str, int, int, int]] = []  # end, node, group, jobs, cores, gpus

    def run(self) -> float:
        """Seconds until the last job has ended."""
        now, everywhere = 0.0, range(len(self._free))
        places: Iterable[int] = everywhere
        while True:
            self._start(now, places)
            if not self._running:
                return now
            now = self._running[0][0]
            freed = set()
            while self._running and self._running[0][0] == now:
                freed.add(self._end())
            ended = {name for name, number in self._unended.items() if not number}
            places = everywhere if any(waits & ended for waits in self._waits.values()) else sorted(freed)
            self._waits = {name: waits - ended for name, waits in self._waits.items()}
            self._groups = [group for group in self._groups if self._unstarted[group.name]]

    def _start(self, now: float, places: Iterable[int]) -> None:
        """Start what fits on these nodes."""
        for group in self._groups:
            name, cores = group.name, group.cores or self._node.cores
            if self._waits[name]:
                continue
            for place in places:
                free = self._free[place]
                fitting = min(self._unstarted[name], free[0] // cores)
                fitting = min(fitting, free[1] // group.gpus) if group.gpus else fitting
                if fitting:
                    free[0] -= fitting * cores
                    free[1] -= fitting * group.gpus
                    self._unstarted[name] -= fitting
                    heapq.heappush(self._running, (now + group.seconds, place, name, fitting, cores, group.gpus))

    def _end(self) -> int:
        """The node on which the next jobs end."""
        _, place, name, jobs, cores, gpus = heapq.heappop(self._running)
        self._free[place][0] += jobs * cores
        self._free[place][1] += jobs * gpus
        self._unended[name] -= jobs
        return place


def wall(groups: Sequence[Jobs], node: Node, nodes: int) -> float:
    """Seconds from the first start to the last end; a group that waits for none of these starts at once.

    Raises UserError for a job that fits no node.
    """
    for group in groups:
        group.share(node)
    return _Cluster([group for group in groups if group.number], node, nodes).run()
