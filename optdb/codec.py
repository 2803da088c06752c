"""Records to and from JSON, strictly: the exact keys in their order, the exact types, nothing converted silently."""

from __future__ import annotations

import hashlib
import json
import math
import typing
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from optdb.errors import RecordError

_ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_QUOTE = json.encoder.encode_basestring_ascii
_DECODE = json.JSONDecoder().raw_decode
_MAX_INTEGER = 2**63 - 1


def encode(value: object) -> str:
    """One line of ASCII. Raises RecordError for what JSON cannot say (NaN, infinities)."""
    try:
        return _ENCODE(value)
    except ValueError as problem:
        raise RecordError(f"not a JSON value: {problem}") from None


def parse(text: str) -> object:
    """The value of a JSON text without a blank around it. Raises ValueError, RecursionError."""
    value, end = _DECODE(text)
    if end != len(text):
        raise ValueError(f"more after the value, at {end}")
    return value


def digest(*parts: object, length: int = 16) -> str:
    """Hex digits that identify a tuple of texts and numbers: the start of the SHA-256 of its JSON."""
    text = ",".join([_QUOTE(part) if type(part) is str else _ENCODE(part) for part in parts])
    return hashlib.sha256(f"[{text}]".encode()).hexdigest()[:length]


def object_text(values: typing.Mapping[str, object]) -> str:
    """The canonical JSON of a mapping: keys sorted, no blanks. Equal mappings give equal texts."""
    return encode(dict(sorted(values.items())))


def is_object(text: str, of: type | tuple[type, ...] = object) -> bool:
    """Whether a text is the canonical JSON of a mapping whose values have the given type."""
    try:
        values = json.loads(text, parse_constant=_refuse)
        return isinstance(values, dict) and object_text(values) == text and all(_is(v, of) for v in values.values())
    except (ValueError, RecordError, RecursionError):
        return False


def _is(value: object, of: type | tuple[type, ...]) -> bool:
    return isinstance(value, of) and not (of is int and isinstance(value, bool))


def _refuse(word: str) -> None:
    raise ValueError(word)


Checks = tuple[Callable[[Any], Any], ...]
_COLUMNS: dict[Any, tuple[tuple[tuple[str, str], ...], tuple[str, ...], Checks]] = {}


def _described(cls: type[Any]) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...], Checks]:
    if cls not in _COLUMNS:
        hints = typing.get_type_hints(cls)
        found = [(f.name, _KINDS[hints[f.name]][0]) for f in fields(cls)]
        key = cls.__dict__["KEY"]
        both = found if key in hints else [(key, "VARCHAR"), *found]
        _COLUMNS[cls] = tuple(both), tuple(n for n, _ in both), tuple(_KINDS[hints[f.name]][1] for f in fields(cls))
    return _COLUMNS[cls]


def columns(cls: type[Any]) -> tuple[tuple[str, str], ...]:
    """(column, DuckDB type) of a record class, its computed key (`KEY`) first."""
    return _described(cls)[0]


def to_document(record: Any) -> dict[str, Any]:
    """The record as a JSON object, in the order of `columns`."""
    return {name: getattr(record, name) for name in _described(type(record))[1]}


def from_document(cls: type[Any], document: object) -> Any:
    """The inverse of `to_document` of a record of class `cls`. Raises RecordError."""
    _, names, checks = _described(cls)
    if type(document) is not dict or tuple(document) != names:
        raise RecordError(f"a {cls.__name__} has the fields {', '.join(names)}")
    values = list(document.values())
    given = values.pop(0) if len(names) > len(checks) else None
    try:
        record = cls(*[check(value) for check, value in zip(checks, values, strict=True)])
    except TypeError:
        wrong = next(n for n, check, v in zip(names[-len(checks) :], checks, values, strict=True) if _fails(check, v))
        raise RecordError(f"{cls.__name__}.{wrong}: {document[wrong]!r:.80} has the wrong type") from None
    if given is not None and given != getattr(record, names[0]):
        raise RecordError(f"{cls.__name__}: {names[0]} {given!r:.80} does not belong to the record")
    return record


def _fails(check: Callable[[Any], Any], value: object) -> bool:
    try:
        check(value)
    except TypeError:
        return True
    return False


def _text(value: Any) -> str:
    if type(value) is not str or "\0" in value:
        raise TypeError
    return value


def _integer(value: Any) -> int:
    if type(value) is not int or not -_MAX_INTEGER <= value <= _MAX_INTEGER:
        raise TypeError
    return value


def _number(value: Any) -> float:
    if type(value) not in (float, int) or not math.isfinite(value):
        raise TypeError
    return float(value)


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError
    return value


def _many(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        if type(value) is not list:
            raise TypeError
        return tuple([check(v) for v in value])

    return checked


def _numbers(value: Any) -> tuple[float, ...]:
    if type(value) is list and set(map(type, value)) <= {float} and math.isfinite(sum(value)):
        return tuple(value)
    checked: tuple[float, ...] = _many(_number)(value)
    return checked


def _optional(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else check(value)


_KINDS: dict[Any, tuple[str, Callable[[Any], Any]]] = {
    str: ("VARCHAR", _text),
    int: ("BIGINT", _integer),
    float: ("DOUBLE", _number),
    bool: ("BOOLEAN", _flag),
    tuple[str, ...]: ("VARCHAR[]", _many(_text)),
    tuple[int, ...]: ("BIGINT[]", _many(_integer)),
    tuple[float, ...]: ("DOUBLE[]", _numbers),
    str | None: ("VARCHAR", _optional(_text)),
    int | None: ("BIGINT", _optional(_integer)),
    float | None: ("DOUBLE", _optional(_number)),
}
