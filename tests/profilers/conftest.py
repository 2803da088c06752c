"""What the tests of the profilers package share: a place to build in, and a way to find survivors."""

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from profilers.build import Built, CompilerConfig, compile_workloads
from profilers.run import DEFAULT_ENVIRONMENT
from profilers.workload import Argument, Workload

CONFIG = CompilerConfig("gcc", ("-O2", "-fopenmp", "-std=c99"))


@pytest.fixture(scope="session")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("build")


@pytest.fixture
def build(workdir: Path) -> Callable[..., Built]:
    """Builds a kernel body (the arguments come as `void *const *args`), or a whole text."""

    def one(body: str, arguments: tuple[Argument, ...], threads: int = 1, config: CompilerConfig = CONFIG) -> Built:
        text = body if "pe_kernel" in body else f"void pe_kernel(void *const *args)\n{{\n{body}\n}}\n"
        built = compile_workloads((Workload("test", text, arguments, threads),), config, workdir, 1)[0]
        assert isinstance(built, Built), built
        return built

    return one


def marked_processes(mark: str) -> list[int]:
    """The living processes that carry the mark in their environment; zombies and this one do not count."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (directory / "environ").read_bytes():
                found.append(int(directory.name))
        except OSError:
            continue
    return found


class Marked:
    """An environment that marks every process started with it."""

    def __init__(self) -> None:
        self.mark = f"PERFEMBED_TEST={uuid.uuid4().hex}"
        name, _, value = self.mark.partition("=")
        self.env = {**DEFAULT_ENVIRONMENT, name: value}

    def processes(self) -> list[int]:
        return marked_processes(self.mark)

    def survivors(self) -> list[int]:
        """Who still lives a moment after the end (an exiting process may take that long to disappear)."""
        for _ in range(20):
            if not marked_processes(self.mark):
                return []
            time.sleep(0.01)
        return marked_processes(self.mark)


@pytest.fixture
def marked() -> Iterator[Marked]:
    marked = Marked()
    yield marked
    assert marked.survivors() == []
