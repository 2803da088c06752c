"""Compiles workloads into harness executables, in parallel and only once per text and flags."""

import contextlib
import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from profilers.contained.child import Command, Finished, Limits
from profilers.contained.errors import CompilerMissing, ProfilersError
from profilers.contained.scratch import scratch_folder
from profilers.errors import HarnessError
from profilers.machine import describe_machine
from profilers.outcome import BuildFailed
from profilers.run import DEFAULT_ENVIRONMENT, describe_signal, run_many
from profilers.workload import Workload

_HARNESS = Path(__file__).with_name("harness.c")
_HARNESS_DATA = Path(__file__).with_name("harness_data.h")
_ABI_FLAGS = ("-m32", "-mx32", "-m64", "--target", "-target", "--sysroot", "-B", "-mabi")
_MESSAGE_LINES, _MESSAGE_CHARS = 20, 4000
COMPILE_MEMORY_BYTES = 4 << 30


@dataclass(frozen=True, slots=True)
class CompilerConfig:
    """A compiler, its flags and the libraries to link."""

    cc: str
    flags: tuple[str, ...]
    libs: tuple[str, ...] = ("-lm",)


@dataclass(frozen=True, slots=True)
class Built:
    """A workload with its executable. `key` identifies text, compiler and flags."""

    workload: Workload
    executable: Path
    config: CompilerConfig
    key: str


def compiler_path(cc: str, environment: Mapping[str, str] = DEFAULT_ENVIRONMENT) -> str:
    """The compiler's absolute path. Raises CompilerMissing."""
    found = shutil.which(cc, path=environment.get("PATH", os.defpath))
    if found is None:
        raise CompilerMissing(f"there is no compiler {cc!r} on the search path")
    return os.path.abspath(found)


def compiler_version(cc: str, environment: Mapping[str, str] = DEFAULT_ENVIRONMENT) -> str:
    """The first line of `cc --version`. Raises CompilerMissing where there is none or it does not answer."""
    return _version_of(compiler_path(cc, environment), environment)


def _version_of(path: str, environment: Mapping[str, str]) -> str:
    status = os.stat(path)
    settings = tuple(sorted((name, value) for name, value in environment.items() if name != "TMPDIR"))
    return _version(path, (status.st_mtime_ns, status.st_size), settings)


@lru_cache(maxsize=64)
def _version(path: str, _stamp: tuple[int, int], environment: tuple[tuple[str, str], ...]) -> str:
    command = Command((path, "--version"), Limits.of_work(20.0), dict(environment), "/")
    finished = run_many((command,), jobs=1)[0]
    lines = finished.stdout.decode(errors="replace").splitlines()
    if not finished.ok or not lines:
        raise CompilerMissing(f"{path} --version does not answer: {_diagnostics(finished, '')}")
    return lines[0].strip()


def compile_workloads(
    workloads: Iterable[Workload],
    config: CompilerConfig,
    workdir: Path,
    jobs: int,
    timeout_s: float = 30.0,
    *,
    environment: Mapping[str, str] = DEFAULT_ENVIRONMENT,
    memory_bytes: int = COMPILE_MEMORY_BYTES,
) -> tuple[Built | BuildFailed, ...]:
    """Builds every workload, `jobs` compilers at a time, each within `timeout_s` seconds of processor time.

    Executables and refusals are kept in `workdir` by content, so that equal texts with equal flags
    are compiled once, also across calls; timeouts are not kept. A workload is asked for when a compiler is free: what
    makes them works while earlier ones are compiled. Raises CompilerMissing, and HarnessError where the harness itself
    does not compile with these flags.
    """
    workdir = workdir.absolute()
    workdir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tmp-", dir=workdir) as scratch:  # what killed compilers leave behind
        env = {**environment, "LC_ALL": "C", "TMPDIR": scratch}
        return _compile(workloads, config, workdir, jobs, timeout_s, env, memory_bytes)


def _compile(
    workloads: Iterable[Workload],
    config: CompilerConfig,
    workdir: Path,
    jobs: int,
    timeout_s: float,
    env: Mapping[str, str],
    memory_bytes: int,
) -> tuple[Built | BuildFailed, ...]:
    cc = compiler_path(config.cc, env)
    limits = Limits.of_work(timeout_s, memory_bytes, 1 << 16)
    identity = _identity(cc, env)
    harness = _build_harness(cc, config, workdir, env, identity)

    asked: list[tuple[str, Workload]] = []
    missing: list[str] = []

    def commands() -> Iterator[Command]:
        for workload in workloads:
            key = _digest(*identity, *config.flags, "--", *config.libs, workload.source)
            asked.append((key, workload))
            if key not in missing and not _is_known(workdir, key):
                missing.append(key)
                _write(workdir / f"{key}.c", workload.source)
                argv = (cc, *config.flags, f"{key}.c", str(harness), "-o", _unfinished(key), *config.libs)
                yield Command(argv, limits, env, workdir)

    failures: dict[str, BuildFailed] = {}
    try:
        compiled = run_many(commands(), jobs=jobs)
        for key, finished in zip(missing, compiled, strict=True):
            if finished.ok and (workdir / _unfinished(key)).exists():
                os.replace(workdir / _unfinished(key), workdir / f"{key}.exe")
                continue
            failures[key] = _failure(finished, f"{key}.c", timeout_s)
            if finished.limit is None and finished.signal is None:
                _write(workdir / f"{key}.failed", failures[key].message)
    finally:
        for key in missing:
            (workdir / _unfinished(key)).unlink(missing_ok=True)
    return tuple(
        failures[key] if key in failures else _known(workdir, key, workload, config) for key, workload in asked
    )


def discard(built: Built) -> None:
    """Removes the executable and the text of a workload; a later build makes them anew."""
    built.executable.unlink(missing_ok=True)
    built.executable.with_suffix(".c").unlink(missing_ok=True)


_HARNESSES: dict[str, bytes] = {}  # object files this process has compiled: work folders come and go
_harnesses = threading.Lock()


def prepare_harness(config: CompilerConfig, environment: Mapping[str, str] = DEFAULT_ENVIRONMENT) -> None:
    """Begins to compile the harness while the caller does something else; who needs it first is told of problems."""

    def build() -> None:
        with contextlib.suppress(ProfilersError, OSError), scratch_folder() as folder:
            env = {**environment, "LC_ALL": "C", "TMPDIR": str(folder)}
            cc = compiler_path(config.cc, env)
            _build_harness(cc, config, folder, env, _identity(cc, env))

    threading.Thread(target=build).start()


def _identity(cc: str, env: Mapping[str, str]) -> tuple[str, ...]:
    return _fingerprint(), cc, _version_of(cc, env), _harness_digest()


def _build_harness(
    cc: str, config: CompilerConfig, workdir: Path, env: Mapping[str, str], identity: tuple[str, ...]
) -> Path:
    """The harness's object file. Only flags that change the ABI are taken over: no fast-math in comparisons."""
    with _harnesses:
        return _harness_in(workdir, cc, config, env, identity)


def _harness_in(
    workdir: Path, cc: str, config: CompilerConfig, env: Mapping[str, str], identity: tuple[str, ...]
) -> Path:
    abi = tuple(flag for flag in config.flags if flag.startswith(_ABI_FLAGS))
    key = _digest(*identity, *abi)
    target = workdir / f"harness-{key}.o"
    if target.exists():
        return target
    if key in _HARNESSES:
        unfinished = workdir / _unfinished(target.stem)
        unfinished.write_bytes(_HARNESSES[key])
        os.replace(unfinished, target)
        return target
    unfinished_name = _unfinished(target.stem)
    argv = (cc, *abi, "-O2", "-std=gnu11", "-fno-fast-math", "-c", str(_HARNESS), "-o", unfinished_name)
    finished = run_many((Command(argv, Limits.of_work(60.0), env, workdir),), jobs=1)[0]
    if not finished.ok:
        (workdir / unfinished_name).unlink(missing_ok=True)
        raise HarnessError(f"{config.cc} cannot compile the harness: {_diagnostics(finished, '')}")
    os.replace(workdir / unfinished_name, target)
    _HARNESSES[key] = target.read_bytes()
    return target


def _unfinished(key: str) -> str:
    return f"{key}.{os.getpid()}-{threading.get_ident()}.part"


def _is_known(workdir: Path, key: str) -> bool:
    return (workdir / f"{key}.exe").exists() or (workdir / f"{key}.failed").exists()


def _known(workdir: Path, key: str, workload: Workload, config: CompilerConfig) -> Built | BuildFailed:
    refusal = workdir / f"{key}.failed"
    if refusal.exists():
        return BuildFailed(refusal.read_text(encoding="utf-8", errors="surrogateescape"))
    return Built(workload, workdir / f"{key}.exe", config, key)


def _write(path: Path, text: str) -> None:
    unfinished = path.with_name(_unfinished(path.name))
    unfinished.write_text(text, encoding="utf-8", errors="surrogateescape")
    os.replace(unfinished, path)


def _failure(finished: Finished, file_name: str, timeout_s: float) -> BuildFailed:
    if finished.timed_out:
        return BuildFailed(f"the compiler did not finish within {timeout_s:g} s")
    if finished.limit is not None:
        return BuildFailed(f"the compiler went over its limit of {finished.limit}")
    return BuildFailed(_diagnostics(finished, file_name))


def _diagnostics(finished: Finished, file_name: str) -> str:
    """The first lines of what the compiler said, with the temporary file called "kernel.c"."""
    text = (finished.stderr or finished.stdout).decode(errors="replace")
    if file_name:
        text = text.replace(file_name, "kernel.c")
    text = "\n".join(text.splitlines()[:_MESSAGE_LINES])[:_MESSAGE_CHARS]
    if text:
        return text
    if finished.signal is not None:
        return f"ended by {describe_signal(finished.signal)}"
    return f"ended with code {finished.returncode} and no message"


@lru_cache(maxsize=1)
def _fingerprint() -> str:
    """-march=native means another thing on each machine of a cluster with a shared folder."""
    return describe_machine().fingerprint


@lru_cache(maxsize=1)
def _harness_digest() -> str:
    return hashlib.sha256(_HARNESS.read_bytes() + _HARNESS_DATA.read_bytes()).hexdigest()


def _digest(*parts: str) -> str:
    hasher = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", errors="surrogateescape")
        hasher.update(len(encoded).to_bytes(8, "little"))
        hasher.update(encoded)
    return hasher.hexdigest()[:32]
