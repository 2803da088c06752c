"""A nest as a question to isl's scheduler."""

from __future__ import annotations

from scheduler.affine.model import SETTINGS, Question, Setting
from scheduler.polyhedral.model import affine_text
from scheduler.replay import Replayer
from scheduler.transform.reschedule import time_maps


def question(replayer: Replayer, settings: tuple[Setting, ...] = SETTINGS) -> Question:
    """Raises NotApplicable for loops whose bounds depend on data (no time map can be given), and QuotaExceeded."""
    model = replayer.model
    prefix = model.parameter_prefix()
    depth = max(len(model.iterators(s)) for s in model.placed)
    orders: list[str] = []
    for one in time_maps(replayer.tree(())).maps:
        names = frozenset(model.iterators(one.statement))
        entries = [str(one.positions[0])]
        for row, position in zip(one.rows, one.positions[1:], strict=True):
            entries += [affine_text(row, "", names), str(position)]
        entries += ["0"] * (2 * depth + 1 - len(entries))
        orders.append(f"{model.tuple_text(one.statement)} -> [{', '.join(entries)}]")
    with model.quota():
        kept = [d.relation for d in replayer.dependences if not replayer.checker.relaxed(d)]
        every = [d.relation for d in replayer.dependences]
        uses = [(s, use) for s in model.placed for use in model.uses(s)]
        reads = [model.access_relation(s, use) for s, use in uses if not use.is_write]
        sure = [(s, use) for s, use in uses if use.is_write and use.must and use.access.is_affine]
        unsure = [(s, use) for s, use in uses if use.is_write and not (use.must and use.access.is_affine)]
        return Question(
            domain=_union(prefix, [str(model.domain(s, "unbounded")) for s in model.placed]),
            order=f"{prefix}{{ {'; '.join(orders)} }}",
            validity=_union(prefix, list(map(str, kept))),
            coincidence=_union(prefix, list(map(str, every))),
            reads=_union(prefix, list(map(str, reads))),
            surely_written=_union(prefix, [str(model.access_relation(s, use)) for s, use in sure]),
            perhaps_written=_union(prefix, [str(model.access_relation(s, use)) for s, use in unsure]),
            nearest=len(kept) == len(every) and not replayer.independent,
            settings=settings,
        )


def _union(prefix: str, texts: list[str]) -> str:
    """One union of sets or maps, each printed by isl with the same parameters."""
    bodies = [text[text.index("{") + 1 : text.rindex("}")].strip() for text in texts]
    return f"{prefix}{{ {'; '.join(filter(None, bodies))} }}"
