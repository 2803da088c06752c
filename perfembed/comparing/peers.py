"""Other tools that a program can be given to: their command lines, and how a program is built by them."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfembed.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,30}")
_BLANK = re.compile(r"\{(\w+)\}")
_BLANKS = ("source", "output", "output_c", "flags", "threads")


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool and its words, with blanks in braces. `translates`: it writes C, which is then compiled.

    `version` identifies the file that is run.
    """

    name: str
    words: tuple[str, ...]
    translates: bool
    version: str

    def command(self, source: Path, output: Path, flags: Sequence[str], threads: int) -> tuple[str, ...]:
        """The words to run; {flags} as a word of its own becomes as many words as there are flags."""
        values = {
            "source": str(source),
            "output": str(output),
            "output_c": str(output),
            "flags": shlex.join(flags),
            "threads": str(threads),
        }
        found: list[str] = []
        for word in self.words:
            if word == "{flags}":
                found += flags
            else:
                found.append(_BLANK.sub(lambda m: values[m[1]], word))
        return tuple(found)


def parse_peer(text: str, taken: Collection[str], environment: Mapping[str, str]) -> Peer:
    """`NAME=command with {source} and {output}`, split into words as a shell does it. Raises UsageError."""
    name, equals, command = text.partition("=")
    if not equals or not _NAME.fullmatch(name):
        raise UsageError(f"--peer {text!r}: expected NAME='command with {{source}} and {{output}}'")
    if name in taken:
        raise UsageError(f"--peer {name}: there is a column of that name already")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--peer {name}: {str(error).lower()}") from None
    if not words:
        raise UsageError(f"--peer {name}: there is no command")
    blanks = {blank for word in words for blank in _BLANK.findall(word)}
    if unknown := sorted(blanks - set(_BLANKS)):
        expected = ", ".join(f"{{{blank}}}" for blank in _BLANKS)
        raise UsageError(f"--peer {name}: {{{unknown[0]}}} is none of {expected}")
    if "source" not in blanks:
        raise UsageError(f"--peer {name}: {{source}}, the C file, is missing")
    if len(blanks & {"output", "output_c"}) != 1:
        raise UsageError(f"--peer {name}: expected {{output}}, the program, or {{output_c}}, a C file, and not both")
    program = shutil.which(words[0], path=environment.get("PATH", os.defpath))
    if program is None:
        raise UsageError(f"--peer {name}: there is no program {words[0]!r}")
    program = os.path.abspath(program)
    return Peer(name, (program, *words[1:]), "output_c" in blanks, _version(program))


def _version(program: str) -> str:
    try:
        return f"sha256 {hashlib.sha256(Path(program).read_bytes()).hexdigest()[:16]}"
    except OSError:  # it may be run, but not read
        return ""
