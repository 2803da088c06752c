"""A result back out of the JSON document that `tune --json` prints: every value is checked against the record it is of.

Fields that a later version added are passed over, those that an earlier one did not have yet get their defaults.
"""

from __future__ import annotations

import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from perfembed.errors import UsageError
from perfembed.report.documents import SCHEMA_VERSION
from perfembed.tuning.result import TuneResult

_ADVICE = "a page is made of what `perfembed tune FILE --json` prints"


class _Foreign(Exception):
    """What is wrong, and where in the document."""


def read_tune_document(text: str, name: str) -> TuneResult:
    """The result in a document of the file `name`. Raises UsageError, on one line, for anything else."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{name}: not JSON: {_short(str(problem))}", _ADVICE) from None
    if not isinstance(content, dict) or "schema_version" not in content:
        raise UsageError(f"{name}: JSON, but not of perfembed", _ADVICE)
    if content["schema_version"] != SCHEMA_VERSION:
        version = _short(repr(content["schema_version"]))
        raise UsageError(f"{name}: schema_version {version}: this perfembed reads {SCHEMA_VERSION}", _ADVICE)
    if content.get("kind") != "tune":
        raise UsageError(f"{name}: not a result of tune, but {_short(repr(content.get('kind')))}", _ADVICE)
    try:
        found = _record(TuneResult, content, "")
    except _Foreign as problem:
        raise UsageError(f"{name}: not a result of tune: {problem}", _ADVICE) from None
    assert isinstance(found, TuneResult)
    return found


def _record(kind: type[Any], value: object, where: str) -> object:
    if not isinstance(value, dict):
        raise _expected("an object", value, where)
    hints = typing.get_type_hints(kind)
    made: dict[str, object] = {}
    for field in fields(kind):
        place = f"{where}.{field.name}" if where else field.name
        if field.name in value:
            made[field.name] = _value(hints[field.name], value[field.name], place)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise _Foreign(f"{place} is missing")
    return kind(**made)


def _value(kind: Any, value: object, where: str) -> object:
    """The value as what a field's annotation says. Raises _Foreign."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        (inner,) = (one for one in arguments if one is not type(None))
        return _value(inner, value, where)
    if origin is typing.Literal:
        if value not in arguments:
            raise _expected(" or ".join(map(repr, arguments)), value, where)
        return value
    if origin is tuple:
        return _sequence(arguments, value, where)
    if origin is Mapping:
        if not isinstance(value, dict):
            raise _expected("an object", value, where)
        return {key: _value(arguments[1], one, f"{where}.{_short(key)}") for key, one in value.items()}
    if is_dataclass(kind) and isinstance(kind, type):
        return _record(kind, value, where)
    return _plain(kind, value, where)


def _sequence(arguments: tuple[Any, ...], value: object, where: str) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise _expected("a list", value, where)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_value(arguments[0], one, f"{where}[{k}]") for k, one in enumerate(value))
    if len(value) != len(arguments):
        raise _expected(f"a list of {len(arguments)}", value, where)
    return tuple(_value(a, one, f"{where}[{k}]") for k, (a, one) in enumerate(zip(arguments, value, strict=True)))


_PLAIN: dict[type, tuple[str, Callable[[Any], bool]]] = {
    str: ("a text", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    int: ("an integer", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    float: ("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool)),  # a finite one
}


def _plain(kind: type, value: object, where: str) -> object:
    name, fits = _PLAIN[kind]
    if not fits(value):
        raise _expected(name, value, where)
    if kind is not float:
        return value
    assert isinstance(value, int | float)
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise _expected("a finite number", value, where)
    return found


def _expected(what: str, value: object, where: str) -> _Foreign:
    return _Foreign(f"{where or 'the document'}: expected {what}, found {_short(json.dumps(value))}")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:57] + "…"
