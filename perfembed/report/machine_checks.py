"""What `doctor` found as a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfembed.report.documents import document, plain
from profilers.calibration import Calibration
from profilers.doctor import Check


@dataclass(frozen=True, slots=True)
class DoctorContent:
    """`ready`: nests can be tuned here. `calibration` is null where there is none."""

    ready: bool
    checks: tuple[Check, ...]
    calibration: Calibration | None


def doctor_document(ready: bool, checks: Sequence[Check], calibration: Calibration | None, file: Path | None) -> str:
    """`file`: where the calibration is kept."""
    content: dict[str, Any] = plain(DoctorContent(ready, tuple(checks), calibration))
    if calibration is not None:
        content["calibration"] |= {"noisy": calibration.noisy, "file": None if file is None else str(file)}
    return document("doctor", content)
