"""The page of the Python interface: its functions, what they are asked for, and what they give back."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import perfembed
from docs.markdown import NOTE, cell, code, paragraphs, table
from perfembed import errors
from perfembed.mapping.embed_file import NestEmbedding
from perfembed.tuning.options import Option, declared
from perfembed.tuning.result import FileResult, NestReport, TuneResult
from perfembed.world import World

_HEAD = """\
`import perfembed` is quick: the rest is imported when it is used. The [guide](../guides/python.md) has examples; what
`--json` prints is the same result as a [document](documents.md).
"""
_GIVEN: tuple[type, ...] = (TuneResult, NestReport, FileResult, NestEmbedding, World)


def python_page() -> str:
    parts = ["# Python\n", NOTE, _HEAD]
    for function in (perfembed.tune, perfembed.embed):
        parts.append(f"## `perfembed.{function.__name__}`\n")
        parts += [f"{text}\n" for text in paragraphs(function.__doc__)]
        parts.append(table(("argument", "type", "default", "meaning"), list(_arguments(function))))
    for kind in _GIVEN:
        parts.append(f"## `{kind.__name__}`\n")
        parts += [f"{text}\n" for text in paragraphs(kind.__doc__)]
        parts.append(table(("field", "type"), [[code(f.name), code(_shown(f.type))] for f in fields(kind)]))
    parts.append("## Errors\n")
    rows = [[code(kind.__name__), str(kind.exit_code), cell((kind.__doc__ or "").strip())] for kind in _errors()]
    parts.append(table(("error", "exit code of the command line", "when"), rows))
    return "\n".join(parts)


def _arguments(function: Callable[..., Any]) -> Iterator[list[str]]:
    options = declared()
    for name, one in inspect.signature(function).parameters.items():
        if one.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        meaning = _meaning(options[name][2]) if name in options else ""
        default = "" if one.default is inspect.Parameter.empty or callable(one.default) else code(repr(one.default))
        yield [code(name), code(_shown(one.annotation)), default, cell(meaning)]


def _meaning(option: Option) -> str:
    """What the command line's help says, without how it is written there."""
    text = option.help.partition("  [")[0].replace(" (repeatable)", "")
    return f"{text.partition(':')[0]}, in seconds." if option.metavar == "TIME" else text


def _shown(annotation: Any) -> str:
    text = (
        annotation.__name__ if isinstance(annotation, type) and not hasattr(annotation, "__args__") else str(annotation)
    )
    text = re.sub(r"\b(typing|perfembed|numpy|npt|np|collections)(\.\w+)*\.(?=[A-Z])", "", text)
    return text.replace("_Path", "str | os.PathLike").replace("OneOf[", "Literal[").replace("NoneType", "None")


def _errors() -> Iterator[type[errors.PerfembedError]]:
    """The classes of the errors, the most general first."""
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.PerfembedError):
            yield kind
