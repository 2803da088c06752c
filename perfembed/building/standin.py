"""Puts something of ours in the place of every compiler that a build may call."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perfembed.building.build import Changes

_COMPILERS = re.compile(r"(?:[\w.-]+-)?(?:gcc|g\+\+|cc|c\+\+|clang|clang\+\+|c89|c99|icx|icpx|icc|tcc)(?:-[\d.]+)?")
_RECORDER = Path(__file__).with_name("recorder.py")


@dataclass(frozen=True, slots=True)
class Standin:
    """The scripts and settings in `folder`, and the environment in which a build finds them."""

    folder: Path
    environment: Mapping[str, str]

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def set(self, changes: Changes, files: list[str]) -> None:
        """What is added from now on. `files`: the real paths of those with texts of ours."""
        settings = {
            "log": str(self.log),
            "files": files,
            "flags": changes.flags,
            "link": changes.link,
            "objects": [str(one) for one in changes.objects],
        }
        (self.folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")

    def entries(self) -> list[tuple[list[str], str]]:
        """(the compiler and its words, the folder it ran in) of each call that compiled C or linked a program."""
        if not self.log.exists():
            return []
        lines = self.log.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        return [(entry["words"], entry["directory"]) for entry in map(json.loads, lines)]


def stand_in(folder: Path, environment: Mapping[str, str]) -> Standin:
    """Makes a script for every compiler on the search path, and for the one that CC names by its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = environment.get("PATH", os.defpath)
    found: dict[str, str] = {}
    for place in path.split(os.pathsep):
        if place and os.path.isdir(place):
            for name in sorted(os.listdir(place)):
                if _COMPILERS.fullmatch(name) and os.access(os.path.join(place, name), os.X_OK):
                    found.setdefault(name, os.path.join(place, name))
    for name, compiler in found.items():
        _script(folder / "path" / name, folder, compiler, path)
    changed = {"PATH": f"{folder / 'path'}{os.pathsep}{path}", "CCACHE_DISABLE": "1"}
    for variable in ("CC", "CXX", "LD"):
        words = environment.get(variable, "").split()
        if words and os.path.isabs(words[0]) and _COMPILERS.fullmatch(os.path.basename(words[0])):
            script = folder / variable / os.path.basename(words[0])
            _script(script, folder, words[0], path)
            changed[variable] = " ".join((str(script), *words[1:]))
    return Standin(folder, {**environment, **changed})


def _script(script: Path, folder: Path, compiler: str, path: str) -> None:
    """The compiler itself has the user's `path` again: what it calls is not to be recorded once more."""
    script.parent.mkdir(exist_ok=True)
    words = (sys.executable, "-I", "-S", str(_RECORDER), str(folder / "settings.json"), compiler)
    text = f'#!/bin/sh\nPATH={shlex.quote(path)} exec {shlex.join(words)} "$@"\n'
    script.write_bytes(os.fsencode(text))
    script.chmod(0o755)
