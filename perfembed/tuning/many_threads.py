"""Nests of functions that several threads call at once, as seen when the program ran: each is left to one thread."""

from __future__ import annotations

from dataclasses import replace

from perfembed.capture import ProgramProfile
from perfembed.tuning.project import Project
from scheduler.frontend.model import Sharing


def left_to_one_thread(project: Project, profile: ProgramProfile) -> Project:
    """The project in which what the profile saw several threads run has that context (`Sharing`).

    Nests with pragmas of their own stay as they are: a parallel region inside of another is its own matter.
    """
    several = {nest.name for nest in profile.nests if nest.other_threads}
    sources = []
    for source in project.sources:
        sharing = dict(source.sharing)
        for nest in source.nests:
            known = sharing.get(nest.name, Sharing())
            if nest.name in several and not (known.context or known.shared or known.protected):
                sharing[nest.name] = replace(known, context="thread")
        sources.append(replace(source, sharing=sharing))
    return replace(project, sources=tuple(sources))


def is_left_to_one_thread(project: Project, name: str) -> bool:
    sharing = next((s.sharing.get(name) for s in project.sources if any(n.name == name for n in s.nests)), None)
    return sharing is not None and sharing.context == "thread"
