"""`perfembed tune` of a checkout, as a process of its own: how another version tunes a file, and how long it takes."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import perfembed
from perfembed.errors import EXIT_NO_NEST, EnvironmentMissing, NoTunableNest, PerfembedError
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.result import CandidateReport, NestReport, TransferReport, TuneResult

OWN = Path(perfembed.__file__).resolve().parents[1]
_PACKAGES = ("scheduler", "profilers", "optdb", "perfembed")
_CODE = (".py", ".c", ".h", ".sql", ".parquet", ".safetensors")
_RUN = "import sys; sys.path.insert(0, {folder!r}); from perfembed.cli.main import run; run()"
_SPARE_S, _SPARE = 600.0, 4.0  # a tune is ended at this and so many times its budget


@dataclass(frozen=True, slots=True)
class TunedBy:
    """What a checkout made of a file. `seconds`: of the process, without waiting for others that measure."""

    result: TuneResult
    seconds: float


def is_checkout(folder: Path) -> bool:
    return (folder / "perfembed" / "cli" / "main.py").is_file()


def version_of(checkout: Path) -> str:
    """A digest of the code and the data that it runs with."""
    hasher = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((checkout / package).rglob("*")):
            if path.suffix in _CODE and path.is_file():
                hasher.update(f"{path.relative_to(checkout)}\0".encode(errors="surrogateescape"))
                hasher.update(hashlib.sha256(path.read_bytes()).digest())
    return hasher.hexdigest()[:16]


def tune_by(checkout: Path, source: Path, output: Path, options: TuneOptions) -> TunedBy:
    """Tunes a file by that checkout's `tune`, without a database, and writes it to `output`.

    Raises KeyboardInterrupt where it was interrupted, NoTunableNest and other PerfembedErrors with what it said.
    """
    words = [
        *("tune", str(source), "-o", str(output), "--json", "--no-db", "--cc", options.cc),
        *("--cflags", shlex.join(options.cflags), "--args", shlex.join(options.world.arguments)),
        *("--threads", str(options.threads), "--search", options.search),
        *("--budget", f"{options.budget_s}s", "--seed", str(options.seed)),
        *(word for name in options.functions for word in ("--function", name)),
    ]
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-c", _RUN.format(folder=str(checkout)), *words],
        env=dict(options.environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, errors="replace",
    ) as process:  # fmt: skip
        try:
            said, complained = process.communicate(timeout=_SPARE_S + _SPARE * options.budget_s)
        except subprocess.TimeoutExpired:
            process.terminate()  # it removes its files
            raise EnvironmentMissing(f"perfembed of {checkout} does not come to an end") from None
        except BaseException:
            process.terminate()
            raise
    elapsed_s = time.monotonic() - began
    result = _read(checkout, said, complained)
    if result.interrupted:
        raise KeyboardInterrupt
    return TunedBy(result, elapsed_s - result.phases.get("waiting", 0.0))


def _read(checkout: Path, said: str, complained: str) -> TuneResult:
    """What `tune --json` printed; fields that the other version does not know, or knows besides, do not matter."""
    try:
        document = json.loads(said)
        if document["kind"] == "error":
            problem = document["error"]
            kind: type[PerfembedError] = EnvironmentMissing
            if problem["exit_code"] == EXIT_NO_NEST:
                kind = NoTunableNest
            raise kind(problem["message"])
        nests = tuple(
            NestReport(**{**_known(NestReport, nest), "transfer": _transfer(nest.get("transfer"))})
            for nest in document["nests"]
        )
        return TuneResult(**{**_known(TuneResult, document), "nests": nests})
    except (ValueError, KeyError, TypeError):
        last = (complained or said).strip().splitlines()[-1:]
        raise EnvironmentMissing(f"perfembed of {checkout} does not run: {' '.join(last)[:300]}") from None


def _transfer(content: Mapping[str, Any] | None) -> TransferReport | None:
    """Only where its candidates come from."""
    if content is None:
        return None
    bare = {"steps": (), "matches": ()}
    found = tuple(CandidateReport(**{**_known(CandidateReport, one), **bare}) for one in content["candidates"])
    return TransferReport((), found, content["pool"], ())


def _known(kind: type, content: Mapping[str, Any]) -> dict[str, Any]:
    return {f.name: content[f.name] for f in fields(kind) if f.name in content}
