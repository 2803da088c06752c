"""Documents against the schemas that ship, where nothing may be in a document that its schema does not name."""

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from perfembed.report.documents import schema_text


def check_document(content: Any, kind: str = "") -> None:
    """`kind`: of one that does not say it. Raises jsonschema.ValidationError."""
    _validator(kind or content["kind"]).validate(content)


@cache
def _validator(kind: str) -> Draft202012Validator:
    return Draft202012Validator(_strict(json.loads(schema_text(kind))))


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _strict(value) for key, value in schema.items()}
    return {**found, "additionalProperties": False} if isinstance(found.get("properties"), dict) else found
