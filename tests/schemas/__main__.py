"""Writes the JSON schemas that ship: `python -m tests.schemas`, after a record of a document has changed."""

from perfembed.report.documents import FOLDER
from tests.schemas.catalogue import derived

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in derived().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
