"""JSON schemas (draft 2020-12) of documents, derived from the classes they are made of.

A record's docstring describes its object, the comment behind a field that field. Only what is shipped is derived so,
by `python -m tests.schemas`: `perfembed schema` prints the files.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from perfembed.report.documents import SCHEMA_VERSION

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
}
_COMMENT = re.compile(r"^ {4}(\w+): .*?  # (?!type:|noqa|fmt:)(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Described:
    """A kind of document: what it holds, and the commands that print it.

    `changes`: fields whose form in the document is another one than in the record, by (record, name): another type,
    None for one that is left out, or one that the record does not have. `framed`: with version and kind in front.
    """

    kind: str
    content: Any
    commands: tuple[str, ...]
    changes: Mapping[tuple[Any, str], Any] = field(default_factory=dict)
    framed: bool = True

    @property
    def name(self) -> str:
        return self.kind.replace(" ", "-")


def json_schema(described: Described) -> dict[str, Any]:
    """The schema of a document. Raises TypeError for a type that JSON cannot show."""
    deriving = _Deriving(described.changes)
    content = deriving.of(described.content)
    if described.framed:
        body = deriving.records.pop(described.content.__name__)
        frame = {"schema_version": {"const": SCHEMA_VERSION}, "kind": {"const": described.kind}}
        content = {
            **body,
            "properties": {**frame, **body["properties"]},
            "required": [*frame, *body["required"]],
        }
    named = " and ".join(f"`perfembed {command}`" for command in described.commands)
    said = f"What {named} print{'s' if len(described.commands) == 1 else ''}."
    more = f" {content['description']}" if "description" in content else ""
    return {
        "$schema": DRAFT,
        "title": f"perfembed {described.kind}",
        "description": said + more,
        **{key: value for key, value in content.items() if key != "description"},
        **({"$defs": dict(sorted(deriving.records.items()))} if deriving.records else {}),
    }


class _Deriving:
    def __init__(self, changes: Mapping[tuple[Any, str], Any]) -> None:
        self.changes = changes
        self.records: dict[str, dict[str, Any]] = {}
        self._types: dict[str, Any] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        if kind in _PLAIN:
            return _PLAIN[kind]
        if is_typeddict(kind) or (is_dataclass(kind) and isinstance(kind, type)):
            return self._record(kind)
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self.of(arguments[0])
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin is Union or isinstance(kind, types.UnionType):
            return _any_of([self.of(one) for one in arguments])
        if origin is tuple and arguments[-1] is not Ellipsis:
            shown = [self.of(one) for one in arguments]
            return {"type": "array", "prefixItems": shown, "minItems": len(shown), "maxItems": len(shown)}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            names = self.of(arguments[0])
            limited = {} if names == _PLAIN[str] else {"propertyNames": names}
            return {"type": "object", **limited, "additionalProperties": self.of(arguments[1])}
        if isinstance(origin, type) and issubclass(origin, Sequence):
            return {"type": "array", "items": self.of(arguments[0])}
        raise TypeError(f"{kind} has no form in JSON")

    def _record(self, kind: Any) -> dict[str, Any]:
        name = kind.__name__
        if self._types.setdefault(name, kind) is not kind:
            raise TypeError(f"two records are called {name}")
        if name not in self.records:
            self.records[name] = {}  # it may hold itself
            fields = {**get_type_hints(kind), **{n: t for (k, n), t in self.changes.items() if k is kind}}
            fields = {n: t for n, t in fields.items() if t is not None}
            notes = _notes(kind)
            self.records[name] = {
                **_described(kind),
                "type": "object",
                "properties": {n: {**self.of(t), **notes.get(n, {})} for n, t in fields.items()},
                "required": list(fields),
            }
        return {"$ref": f"#/$defs/{name}"}


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """Simple types share one list."""
    simple = [s["type"] for s in schemas if s.keys() == {"type"}]
    others = [s for s in schemas if s.keys() != {"type"}]
    both = [{"type": simple[0] if len(simple) == 1 else simple}] if simple else []
    return both[0] if not others else {"anyOf": [*others, *both]}


def _described(kind: Any) -> dict[str, Any]:
    text = inspect.cleandoc(kind.__doc__ or "")
    if not text or text.startswith((f"{kind.__name__}(", "dict() ->")):  # what Python itself writes there
        return {}
    return {"description": "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))}


def _notes(kind: Any) -> dict[str, dict[str, str]]:
    """The comments behind fields."""
    try:
        source = inspect.getsource(kind)
    except OSError:  # made by a call
        return {}
    return {name: {"description": text.strip()} for name, text in _COMMENT.findall(source)}
