"""The command line of gcc and compilers like it, taken apart.

Imports as little as it can: what stands in for a compiler starts once for each file of a build.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

_PREPROCESSOR = ("-D", "-U", "-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-iprefix")
_DEPENDENCIES = ("-MD", "-MMD", "-MP", "-MG")
_DEPENDENCIES_WITH_VALUE = ("-MF", "-MT", "-MQ", "-MJ")
_LINK = ("-shared", "-static", "-static-pie", "-rdynamic", "-pie", "-no-pie", "-nostdlib", "-nostartfiles", "-s", "-r")
_LINK_JOINED = ("-l", "-L", "-T", "-Wl,", "-static-lib", "-shared-lib", "-fuse-ld=")
_LINK_WITH_VALUE = ("-l", "-L", "-T", "-u", "-z", "-e", "-h", "-Xlinker")
_OTHERS_WITH_VALUE = ("-o", "-x", "-A", "--param", "-Xassembler", "-Xpreprocessor", "-Xclang", "-mllvm", "-target")
_RARE_WITH_VALUE = ("-arch", "-aux-info", "-wrapper", "-iwithprefix", "-iwithprefixbefore", "-imultilib", "--include")
_WITH_VALUE = frozenset(
    (
        "-isysroot",
        "--sysroot",
        "-B",
        *_PREPROCESSOR,
        *_DEPENDENCIES_WITH_VALUE,
        *_LINK_WITH_VALUE,
        *_OTHERS_WITH_VALUE,
        *_RARE_WITH_VALUE,
    )
)
_STAGES = {"-E": "preprocess", "-M": "preprocess", "-MM": "preprocess", "-fsyntax-only": "check"}
_STAGES |= {"-S": "assemble", "-c": "compile"}
_EARLIEST = ("preprocess", "check", "assemble", "compile")
_LANGUAGES = {".c": "c", ".i": "cpp-output", ".h": "c-header", ".s": "assembler", ".S": "assembler-with-cpp"}
_LANGUAGES |= dict.fromkeys((".cc", ".cpp", ".cxx", ".C", ".CPP", ".c++", ".cp", ".ii", ".hpp", ".hh"), "c++")
_LANGUAGES |= dict.fromkeys((".f", ".f90", ".F", ".F90", ".for"), "fortran")
_NAMED = frozenset((*_LANGUAGES.values(), "none", "c++-header", "c++-cpp-output"))
_MOST_NESTED = 8


class Input:
    """A file that the command line names, at this position; `language` "" where the linker takes it as it is."""

    __slots__ = ("language", "path", "position")

    def __init__(self, position: int, path: str, language: str) -> None:
        self.position, self.path, self.language = position, path, language


class CommandLine:
    """What a compiler's command line asks for.

    `stage`, the last one: "preprocess", "check", "assemble", "compile" (-c) or "link". `compile`: the options that
    decide how a C file is compiled, `link`: those that are the linker's; neither has inputs, outputs, stages or files
    of dependencies in it.
    """

    __slots__ = ("compile", "inputs", "link", "output", "stage", "words")

    def __init__(self, words: Sequence[str]) -> None:
        """`words`: without the compiler, response files read (`expanded`)."""
        self.words = tuple(words)
        self.inputs: list[Input] = []
        self.output: str | None = None
        self.compile: list[str] = []
        self.link: list[str] = []
        stages: list[str] = []
        language = ""
        position = 0
        while position < len(self.words):
            word = self.words[position]
            value = self.words[position + 1] if word in _WITH_VALUE and position + 1 < len(self.words) else None
            if word in ("-", "") or not word.startswith("-"):
                self.inputs.append(Input(position, word, language or _LANGUAGES.get(os.path.splitext(word)[1], "")))
            elif word == "-x" or (word[2:] in _NAMED and word.startswith("-x")):
                language = (value if value is not None else word[2:]).replace("none", "")
            elif word in _STAGES:
                stages.append(_STAGES[word])
            elif word == "-o" or word.startswith("-o"):
                self.output = value if value is not None else word[2:]
            elif word in _DEPENDENCIES or word.startswith(_DEPENDENCIES_WITH_VALUE):
                pass
            elif word in _LINK or word in _LINK_WITH_VALUE or word.startswith(_LINK_JOINED):
                self.link += [word] if value is None else [word, value]
            else:
                self.compile += [word] if value is None else [word, value]
            position += 1 if value is None else 2
        self.stage = next((stage for stage in _EARLIEST if stage in stages), "link")

    @property
    def sources(self) -> list[Input]:
        """The C files among the inputs."""
        return [one for one in self.inputs if one.language == "c" and one.path != "-"]

    @property
    def links_program(self) -> bool:
        """Whether an executable program comes out."""
        return self.stage == "link" and bool(self.inputs) and not {"-shared", "-r"} & set(self.link)

    @property
    def links_library(self) -> bool:
        """Whether a shared library comes out."""
        return self.stage == "link" and bool(self.inputs) and "-shared" in self.link


def expanded(words: Sequence[str], directory: str = ".", depth: int = 0) -> list[str]:
    """The words with response files (`@file`) read; one that cannot be read stays."""
    found: list[str] = []
    for word in words:
        text = _response(os.path.join(directory, word[1:])) if word.startswith("@") and depth < _MOST_NESTED else None
        if text is None:
            found.append(word)
        else:
            import shlex  # here, not above: hardly ever needed

            found += expanded(shlex.split(text), directory, depth + 1)
    return found


def _response(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return None


def options(flags: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The flags one by one, each with the value that stands beside it."""
    position = 0
    while position < len(flags):
        size = 2 if flags[position] in _WITH_VALUE and position + 1 < len(flags) else 1
        yield tuple(flags[position : position + size])
        position += size


def code_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """Of a file's flags those that decide what machine code becomes of C text that includes nothing."""
    found: list[str] = []
    for option in options(flags):
        if not option[0].startswith((*_PREPROCESSOR, "-W", "-pedantic", "-M", "-nostdinc", "-save-temps")):
            found += option
    return tuple(found)
