"""Stands in for a compiler during a build: writes down what it is asked, and asks the real one with what is added.

Started as a program of its own, by the scripts that `perfembed.building.standin` writes: SETTINGS COMPILER WORDS...
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from perfembed.building.arguments import CommandLine, expanded


def main(settings_path: str, compiler: str, words: list[str]) -> None:
    """Becomes the compiler."""
    with open(settings_path, encoding="utf-8", errors="surrogateescape") as file:
        settings = json.load(file)
    here = os.path.realpath(".")
    line = CommandLine(expanded(words))
    if line.sources or line.links_program:
        entry = {"words": [compiler, *words], "directory": here}
        record(settings["log"], json.dumps(entry) + "\n")
    try:
        os.execv(compiler, [compiler, *words, *added(line, settings)])
    except OSError as problem:
        sys.stderr.write(f"{compiler}: {problem.strerror}\n")
        sys.exit(127)


def added(line: CommandLine, settings: dict[str, Any]) -> list[str]:
    """The words behind those of the build."""
    found: list[str] = []
    marked = set(settings["files"])
    if line.stage == "link" and line.inputs:
        found += settings["flags"] + settings["link"]
        if line.links_library and settings["objects"]:
            found.append("-Wl,-z,undefs")  # what is missing is in the program that uses it
        elif line.links_program and settings["objects"]:
            found += ["-x", "none", *settings["objects"]]
    elif line.stage in ("compile", "assemble") and any(os.path.realpath(s.path) in marked for s in line.sources):
        found += settings["flags"]
    return found


def record(path: str, text: str) -> None:
    """In one write, for several compilers may do so at once."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, text.encode("utf-8", "surrogateescape"))
    finally:
        os.close(file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
