"""Writes the JSON schemas that ship: `python -m tests.write_schemas`, after a record of a document has changed."""

import json

from perfembed.report.catalogue import DOCUMENTS
from perfembed.report.derive_schema import json_schema
from perfembed.report.schema import FOLDER


def derived() -> dict[str, str]:
    """File name -> text of every schema."""
    return {
        f"{described.name}.json": json.dumps(json_schema(described), indent=2, ensure_ascii=False) + "\n"
        for described in DOCUMENTS
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in derived().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
