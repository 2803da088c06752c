"""The wheel and the sdist: the same bytes twice, with everything that ships and nothing else."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("optdb", "perfembed", "profilers", "scheduler")
LEFT_OUT = tuple(f"optdb/data/{name}/" for name in ("labels", "profiles", "searches", "transfers"))
NEEDED = {
    "perfembed/py.typed", "optdb/py.typed", "profilers/py.typed", "scheduler/py.typed",
    "perfembed/weights/embedding.safetensors", "perfembed/weights/cost-boosted.safetensors",
    "perfembed/report/map_page.html", "perfembed/report/schemas/tune.json", "perfembed/demo/heat.c",
    "perfembed/capture/instrument.h", "profilers/harness.c", "profilers/contained/supervisor.c",
    "profilers/groups/perf-amd.toml",
    "optdb/schema.sql", "optdb/views.sql",
}  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, Path]]:
    """(wheel, sdist) of two builds of the same tree."""
    pytest.importorskip("hatchling")
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1760000000"}
    found = []
    for name in ("first", "second"):
        folder = tmp_path_factory.mktemp(name)
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
            cwd=ROOT, env=environment, check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        found.append((next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))))
    return found


def shipped() -> set[str]:
    """Everything in the packages, but what Python leaves there, and data that only training and benchmarks need."""
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file())
    names = {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}
    return {name for name in names if not name.startswith(LEFT_OUT)}


def test_the_same_bytes_twice(built: list[tuple[Path, Path]]) -> None:
    for first, second in zip(*built, strict=True):
        assert first.name == second.name and first.read_bytes() == second.read_bytes()


def test_wheel(built: list[tuple[Path, Path]]) -> None:
    with zipfile.ZipFile(built[0][0]) as wheel:
        names = set(wheel.namelist())
        (entry,) = (name for name in names if name.endswith("entry_points.txt"))
        assert "perfembed = perfembed.cli.entry:run" in wheel.read(entry).decode()
    assert {name for name in names if ".dist-info/" not in name} == shipped()
    assert names >= NEEDED and any(name.startswith("optdb/data/donors/") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_sdist(built: list[tuple[Path, Path]]) -> None:
    with tarfile.open(built[0][1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    others = {"README.md", "LICENSE", "pyproject.toml", "PKG-INFO", ".gitignore"}
    assert names - others == shipped() and others - {".gitignore"} <= names
