"""Jobs on the nodes of a cluster: how long they take if each starts as soon as what it needs is there."""

import heapq
from collections.abc import Sequence
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
        now, places = 0.0, range(len(self._free))
        while True:
            self._start(now, places)
            if not self._running:
                return now
            now = self._running[0][0]
            places, ended = set(), set()
            while self._running and self._running[0][0] == now:
                place, name = self._end()
                places.add(place)
                ended |= {name} if not self._unended[name] else set()
            if ended:
                for waits in self._waits.values():
                    waits -= ended
                self._groups = [group for group in self._groups if self._unended[group.name]]
                places = range(len(self._free))

    def _start(self, now: float, places: Sequence[int] | set[int]) -> None:
        for name, seconds, needed_cores, gpus in self._ready():
            cores = needed_cores or self._node.cores
            for place in places:
                free = self._free[place]
                fitting = min(
                    self._unstarted[name], free[0] // cores, free[1] // gpus if gpus else self._unstarted[name]
                )
                if fitting:
                    free[0] -= fitting * cores
                    free[1] -= fitting * gpus
                    self._unstarted[name] -= fitting
                    heapq.heappush(self._running, (now + seconds, place, name, fitting, cores, gpus))

    def _ready(self) -> list[tuple[str, float, int | None, int]]:
        groups = [g for g in self._groups if self._unstarted[g.name] and not self._waits[g.name]]
        return [(group.name, group.seconds, group.cores, group.gpus) for group in groups]

    def _end(self) -> tuple[int, str]:
        _, place, name, jobs, cores, gpus = heapq.heappop(self._running)
        self._free[place][0] += jobs * cores
        self._free[place][1] += jobs * gpus
        self._unended[name] -= jobs
        return place, name


def wall(groups: Sequence[Jobs], node: Node, nodes: int) -> float:
    """Seconds from the first start to the last end; a group that waits for none of these starts at once.

    Raises UserError for a job that fits no node.
    """
    for group in groups:
        group.share(node)
    return _Cluster([group for group in groups if group.number], node, nodes).run()
