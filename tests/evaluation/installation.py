"""A checkout's wheel, built and installed with what it needs into an environment of its own: time and size."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perfembed.errors import EnvironmentMissing

_LIMIT_S = 1800.0  # of one call of pip: a first one may have to load torch
_SHIPPED = ("pyproject.toml", "README.md", "LICENSE", "perfembed", "optdb", "profilers", "scheduler")
_OWN_BYTES = """import importlib.metadata as m
print(sum(f.locate().stat().st_size for f in m.files('perfembed') if f.locate().is_file()))"""


@dataclass(frozen=True, slots=True)
class Installation:
    """`install_s` with everything that pip loads in its cache; bytes of perfembed's files and of all packages'."""

    install_s: float
    own_bytes: int
    all_bytes: int


def install(checkout: Path, folder: Path, environment: Mapping[str, str]) -> tuple[Installation, Path]:
    """(what it took, the environment's Python), all in `folder`. Raises EnvironmentMissing where pip fails."""
    source, wheels, venv = folder / "source", folder / "wheels", folder / "venv"
    source.mkdir(parents=True)
    for name in _SHIPPED:  # builds leave folders where they work
        path = checkout / name
        if path.is_dir():
            shutil.copytree(path, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(path, source / name)
    _run([sys.executable, "-m", "venv", str(venv)], folder, environment)
    python = venv / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    _run([*pip, "wheel", "--no-deps", "--wheel-dir", str(wheels), str(source)], folder, environment)
    (wheel,) = wheels.glob("*.whl")
    _run([*pip, "download", "--dest", str(folder / "cached"), str(wheel)], folder, environment)  # warms pip's cache
    shutil.rmtree(folder / "cached")
    before = _bytes(venv)
    began = time.monotonic()
    _run([*pip, "install", str(wheel)], folder, environment)
    install_s = time.monotonic() - began
    own = int(_run([str(python), "-c", _OWN_BYTES], folder, environment))
    return Installation(install_s, own, _bytes(venv) - before), python


def _run(command: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=_LIMIT_S,
    )  # fmt: skip
    if done.returncode != 0:
        last = " ".join(done.stderr.split())[-300:]
        raise EnvironmentMissing(f"pip failed ({' '.join(command[-4:])}): {last}", "try the same by hand")
    return done.stdout


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
