"""The documents that commands print."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypedDict, get_type_hints

from perfembed.comparing.rows import Row
from perfembed.inspection.inspect_file import Inspection, LoopFacts
from perfembed.inspection.views import DependenceView
from perfembed.populating.programs import PopulateResult
from perfembed.profiling.profile_file import ProfileResult
from perfembed.report.comparison import CompareContent, Judged
from perfembed.report.database import CheckContent, CompactContent, ExportContent, IntakeContent, PruneContent
from perfembed.report.database_info import DatabaseInfo
from perfembed.report.documents import ErrorContent
from perfembed.report.population import PlanContent, ProgramsContent
from perfembed.report.profiles import DoctorContent
from perfembed.report.terminal import DemoContent
from perfembed.tuning.result import TuneResult
from profilers.calibration import Calibration
from profilers.profile import Profile
from tests.schemas.derive import Described, json_schema


class DistanceContent(TypedDict):
    """Of sink minus source in one common loop; null: unbounded."""

    loop: str
    least: int | None
    greatest: int | None


_COUNTS = Mapping[str, int]
_INSPECTED: dict[tuple[Any, str], Any] = {
    (DependenceView, "distance"): tuple[DistanceContent, ...],
    **{(DependenceView, name): _COUNTS for name in ("source_at", "sink_at", "parameters")},
    (LoopFacts, "fixed"): Mapping[str, str],
}
_PROFILED = {
    (Profile, "counts"): Mapping[str, tuple[float, ...]],
    (Profile, "metrics"): Mapping[str, float | None],
}
_COMPARED = {(Row, name): kind for name, kind in get_type_hints(Judged).items()}
DOCUMENTS = (
    Described("tune", TuneResult, ("tune --json",)),
    Described("demo", DemoContent, ("demo --json",)),
    Described("compare", CompareContent, ("compare --format json",), _COMPARED),
    Described("inspect", Inspection, ("inspect --json",), _INSPECTED),
    Described("profile", ProfileResult, ("profile --json",), _PROFILED),
    Described("populate", PopulateResult, ("populate --json",)),
    Described("populate plan", PlanContent, ("populate --dry-run --json",)),
    Described("programs", ProgramsContent, ("generate --json",)),
    Described("sql", tuple[Mapping[str, object], ...], ("sql --format json",), framed=False),
    Described(
        "db info",
        DatabaseInfo,
        ("db info --json",),
        {(DatabaseInfo, name): _COUNTS for name in ("rows", "algorithms", "outcomes")},
    ),
    Described("db check", CheckContent, ("db info --check --json",)),
    Described("db import", IntakeContent, ("db import --json",)),
    Described("db export", ExportContent, ("db export --json",)),
    Described("db prune", PruneContent, ("db prune --json",)),
    Described("db compact", CompactContent, ("db prune --compact --json",)),
    Described(
        "doctor",
        DoctorContent,
        ("doctor --json",),
        {(Calibration, "noisy"): bool, (Calibration, "file"): str | None},
    ),
    Described("error", ErrorContent, ("… --json",)),
)


def derived() -> dict[str, str]:
    """File name -> text of every schema."""
    return {
        f"{described.name}.json": json.dumps(json_schema(described), indent=2, ensure_ascii=False) + "\n"
        for described in DOCUMENTS
    }
