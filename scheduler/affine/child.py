"""The process that isl's scheduler runs in: a question on stdin, an answer for each setting on stdout, all pickled.

Some questions take isl for ever, in steps that no count of its operations bounds. Each setting is therefore answered
in a process of its own, which the kernel ends when it has used up its time.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
from collections.abc import Iterable
from functools import partial
from typing import Any, BinaryIO

import islpy as isl

from profilers.contained.limits import lower_limit
from scheduler.affine.model import Answer, Band, Linear, Node, Question, Setting, Several, Statements

_MEMORY_BYTES = 1 << 30
_FLOW_OPERATIONS = 300_000
_AT_ONCE = 2  # processes
_QUICK = 0.5  # of the time that others have
_KINDS: Any = isl.schedule_node_type  # in the stubs its members are no numbers


class _Beyond(Exception):
    """A schedule that time maps cannot say."""


class Nest:
    """A question read by isl, with what all settings share: which instances must keep their order, which share data."""

    def __init__(self, question: Question) -> None:
        self.context = isl.Context()
        self.domain = isl.UnionSet.read_from_str(self.context, question.domain)
        self.reads, self.sure, unsure, self.order, validity, coincidence = (
            isl.UnionMap.read_from_str(self.context, text)
            for text in (
                question.reads,
                question.surely_written,
                question.perhaps_written,
                question.order,
                question.validity,
                question.coincidence,
            )
        )
        self.nothing = isl.UnionMap.read_from_str(self.context, "{ }")
        self.writes = self.sure.union(unsure)
        self.flow = self._nearest(self.reads, self.sure, unsure)
        self.validity, self.coincidence = validity.coalesce(), coincidence.coalesce()
        if question.nearest:  # the others follow from these, and isl takes longer with more
            nearest = self.flow.union(self._nearest(self.writes, self.sure, unsure)).union(self._overwritten())
            self.validity = self.coincidence = nearest.coalesce()

    def re_read(self) -> isl.UnionMap:
        """From each read of an element to its next read."""
        return self._nearest(self.reads, self.reads, self.nothing)

    def _nearest(self, sink: isl.UnionMap, sure: isl.UnionMap, unsure: isl.UnionMap) -> isl.UnionMap:
        """From the last access before; where that is too hard to say, from all before."""
        flow = isl.UnionAccessInfo.from_sink(sink).set_must_source(sure).set_may_source(unsure)
        return self._computed(flow, sink, sure.union(unsure))

    def _overwritten(self) -> isl.UnionMap:
        """From the reads of what was there to the next write."""
        flow = isl.UnionAccessInfo.from_sink(self.writes).set_may_source(self.reads).set_kill(self.sure)
        return self._computed(flow, self.writes, self.reads)

    def _computed(self, flow: isl.UnionAccessInfo, sink: isl.UnionMap, source: isl.UnionMap) -> isl.UnionMap:
        self.context.reset_operations()
        self.context.set_max_operations(_FLOW_OPERATIONS)
        try:
            return flow.set_schedule_map(self.order).compute_flow().get_may_dependence()
        except isl.Error:
            self.context.set_max_operations(0)
            return source.apply_range(sink.reverse()).intersect(self.order.lex_lt_union_map(self.order))
        finally:
            self.context.set_max_operations(0)
            self.context.reset_operations()

    def answer(self, setting: Setting) -> Answer:
        """The schedule isl computes; a reason where it gives up or what it finds is no list of time maps."""
        for name, value in setting.options:
            getattr(self.context, f"set_schedule_{name}")(value)
        try:
            near = self.flow.union(self.re_read()) if setting.inputs else self.flow
            asked = isl.ScheduleConstraints.on_domain(self.domain)
            asked = asked.set_validity(self.validity).set_coincidence(self.coincidence).set_proximity(near)
            return Answer(setting.name, _node(asked.compute_schedule().get_root(), _names(self.domain)))
        except (isl.Error, _Beyond, MemoryError) as problem:
            return Answer(setting.name, None, str(problem) or "isl ran out of memory")


def main() -> None:
    question: Question = pickle.load(sys.stdin.buffer)
    lower_limit(resource.RLIMIT_AS, _MEMORY_BYTES)
    lower_limit(resource.RLIMIT_CORE, 0)
    nest = Nest(question)
    at_once = min(_AT_ONCE, len(os.sched_getaffinity(0)))
    waiting = sorted(question.settings, key=lambda setting: not setting.quick)
    failed: set[str] = set()
    while waiting := [setting for setting in waiting if setting.after not in failed]:
        chosen, waiting = waiting[:at_once], waiting[at_once:]
        limits = [question.seconds * (_QUICK if setting.quick else 1.0) for setting in chosen]
        running = [_started(nest, *asked) for asked in zip(chosen, limits, strict=True)]
        for setting, limit, (process, given) in zip(chosen, limits, running, strict=True):
            with given:
                content = given.read()
            os.waitpid(process, 0)
            found = _understood(content, setting, limit)
            if found.tree is None:
                failed.add(setting.name)
            pickle.dump(found, sys.stdout.buffer)
            sys.stdout.buffer.flush()


def _started(nest: Nest, setting: Setting, seconds: float) -> tuple[int, BinaryIO]:
    """The process that answers, and where it does."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(reading)
            signal.setitimer(signal.ITIMER_PROF, seconds)  # SIGPROF ends it
            with os.fdopen(writing, "wb") as out:
                pickle.dump(nest.answer(setting), out)
        finally:
            os._exit(0)
    os.close(writing)
    return process, os.fdopen(reading, "rb")


def _understood(content: bytes, setting: Setting, seconds: float) -> Answer:
    try:
        found: Answer = pickle.loads(content)
    except (EOFError, pickle.UnpicklingError):
        return Answer(setting.name, None, f"isl needed more than {seconds:g} s, or failed")
    return found


def _names(domain: isl.UnionSet) -> tuple[str, ...]:
    found: list[str] = []
    domain.foreach_set(lambda one: found.append(one.get_tuple_name()))
    return tuple(sorted(found))


def _node(node: isl.ScheduleNode, statements: tuple[str, ...]) -> Node:
    """The tree below a node as values; `statements` are those that get there."""
    kind = node.get_type()
    if kind in (_KINDS.domain, _KINDS.filter):
        kept = statements
        if kind == _KINDS.filter:
            names = _names(node.filter_get_filter())
            kept = tuple(s for s in statements if s in names)
        return _node(node.child(0), kept) if node.has_children() else Statements(kept)
    if kind in (_KINDS.sequence, _KINDS.set):
        children = [_node(node.child(k), statements) for k in range(node.n_children())]
        below = [name for child in children for name in _below(child)]
        if len(below) != len(set(below)):
            raise _Beyond("isl splits the iterations of a statement")
        return Several(tuple(children), kind == _KINDS.sequence)
    if kind == _KINDS.band:
        child = _node(node.child(0), statements)
        count = node.band_n_member()
        partial = node.band_get_partial_schedule()
        rows = tuple(_rows(partial.get_at(k), statements) for k in range(count))
        coincident = tuple(bool(node.band_member_get_coincident(k)) for k in range(count))
        return Band(rows, coincident, bool(node.band_get_permutable()), child) if count else child
    if kind == _KINDS.leaf:
        return Statements(statements)
    raise _Beyond(f"isl's schedule has a node of kind {kind}")


def _below(node: Node) -> Iterable[str]:
    if isinstance(node, Statements):
        return node.names
    if isinstance(node, Band):
        return _below(node.child)
    return [name for child in node.children for name in _below(child)]


def _rows(row: isl.UnionPwAff, statements: tuple[str, ...]) -> dict[str, Linear]:
    parts: list[isl.PwAff] = []
    row.foreach_pw_aff(parts.append)
    found: dict[str, Linear] = {}
    for part in parts:
        pieces: list[isl.Aff] = []
        part.foreach_piece(partial(_append, pieces))
        name = part.get_space().get_tuple_name(isl.dim_type.in_)
        if len(pieces) != 1 or name in found:
            raise _Beyond(f"the time of {name} is piecewise")
        found[name] = _linear(pieces[0])
    missing = [name for name in statements if name not in found]
    if missing:
        raise _Beyond(f"isl gives {missing[0]} no time")
    return {name: found[name] for name in statements}


def _append(pieces: list[isl.Aff], _: isl.Set, aff: isl.Aff) -> None:
    pieces.append(aff)


def _linear(aff: isl.Aff) -> Linear:
    if aff.dim(isl.dim_type.div):
        raise _Beyond("a time is rounded")
    iterators, parameters = isl.dim_type.in_, isl.dim_type.param
    own = {k: _whole(aff.get_coefficient_val(iterators, k)) for k in range(aff.dim(iterators))}
    others = {
        str(aff.get_dim_name(parameters, k)): _whole(aff.get_coefficient_val(parameters, k))
        for k in range(aff.dim(parameters))
    }
    return (
        {k: value for k, value in own.items() if value},
        {name: value for name, value in others.items() if value},
        _whole(aff.get_constant_val()),
    )


def _whole(value: isl.Val) -> int:
    if not value.is_int():
        raise _Beyond("a time is a fraction")
    return int(value.to_python())
