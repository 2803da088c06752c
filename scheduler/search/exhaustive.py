"""Every schedule of the decision tree, depth first: what the other searches are measured against on small nests."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler.schedule import Schedule
from scheduler.search.decisions import ROOT, Decision, choices
from scheduler.search.explorer import Explorer


class Exhaustive(Explorer):
    """Ends with the tree, the limit or the time."""

    def _search(self) -> None:
        self.best(self._leaves(ROOT), 1)

    def _leaves(self, node: Decision) -> Iterator[Schedule]:
        if node.stage == "done":
            yield node.schedule
        for choice in choices(self.space, node):
            yield from self._leaves(choice)
