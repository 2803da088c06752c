"""Who may import whom: the edges between packages, no cycles inside them, nothing heavy before it is needed."""

import ast
import subprocess
import sys

import pytest

from tests.evaluation.house import PACKAGES, ROOT, Modules

ALLOWED = {
    "perfembed": {"optdb", "profilers", "scheduler"},
    "optdb": {"profilers", "scheduler"},
    "profilers": set[str](),
    "scheduler": {"profilers.contained"},
}
# Processes of their own: they talk to their parents through standard output, and hand the environment on.
CHILDREN = {"scheduler.frontend.child", "profilers.likwid_child"}
HEAVY = {"torch", "torch_geometric", "faiss", "clang", "sklearn", "islpy", "numpy", "scipy", "duckdb", "rich"}
FLOORS = (  # of perfembed, from the ground up: a room imports from its own floor and from those below
    ("errors", "files", "flags", "reading", "world", "building", "capture", "transfer"),
    ("embedding", "fuzzing", "inspection", "measuring"),
    ("learning",),
    ("retrieval",),
    ("tuning",),
    ("mapping", "populating", "wrapper"),
    ("comparing", "profiling"),
    ("report",),
    ("api", "cli"),
    ("__main__",),
)
ORDER = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
LINES = 300
HELP_MODULES = 200  # of 200 ms; 128 today


MODULES = Modules()
PATHS = MODULES.paths


def test_everything_is_found() -> None:
    assert {"perfembed.cli.main", "scheduler.replay", "profilers.run", "optdb"} <= set(PATHS)


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_only_what_they_may(package: str) -> None:
    wrong = {
        f"{name} imports {target}"
        for name in PATHS
        if name.split(".")[0] == package
        for target in MODULES.imported(name, everywhere=True)
        if target.split(".")[0] in set(PACKAGES) - {package}
        if not any(f"{target}.".startswith(f"{allowed}.") for allowed in ALLOWED[package])
    }
    assert not wrong


def test_files_are_short_or_say_why_they_are_not() -> None:
    long = {name for name, path in PATHS.items() if len(path.read_text().splitlines()) > LINES}
    assert not {name for name in long if "Long, because" not in (ast.get_docstring(MODULES.trees[name]) or "")}


def test_tests_are_not_imported() -> None:
    wrong = {n for n in PATHS for t in MODULES.imported(n, everywhere=True) if t.split(".")[0] == "tests"}
    assert not wrong


@pytest.mark.parametrize("everywhere", [False, True])
def test_no_cycles(everywhere: bool) -> None:
    """Neither when modules are imported nor later, when a function of theirs runs."""
    graph = MODULES.edges(everywhere)
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            for target in sorted(graph[name]):
                visit(target, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_rooms_stand_on_those_below_them() -> None:
    """Also where an import waits until it is needed, and where it is for types only."""
    wrong = {
        f"{name} imports {target}"
        for name in PATHS
        for target in MODULES.imported(name, everywhere=True)
        if (above := room(name)) != (below := room(target)) and ORDER.get(below, -1) > ORDER.get(above, 99)
    }
    assert not wrong
    assert {room(name) for name in PATHS} - {""} <= set(ORDER)


def room(module: str) -> str:
    """The first name below `perfembed`; "" of other packages' modules."""
    package, *names = module.split(".")
    return names[0] if package == "perfembed" and names else ""


def test_only_the_command_line_reads_the_environment() -> None:
    wrong = []
    for name in PATHS:
        if name.startswith("perfembed.cli") or name in CHILDREN:
            continue
        for node in ast.walk(MODULES.trees[name]):
            if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv", "environb"):
                wrong.append(f"{PATHS[name].relative_to(ROOT)}:{node.lineno}")
    assert not wrong


def test_libraries_do_not_print() -> None:
    wrong = []
    for name in PATHS:
        if name.startswith("perfembed.cli") or name in CHILDREN:
            continue
        for node in ast.walk(MODULES.trees[name]):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                wrong.append(f"{PATHS[name].relative_to(ROOT)}:{node.lineno}")
    assert not wrong


def modules(*command: str) -> set[str]:
    """The modules a Python command imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *command], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    names = {line.rpartition("|")[2].strip() for line in lines}
    assert "site" in names
    return names


def loaded(*command: str) -> set[str]:
    """Their top-level names."""
    return {name.split(".")[0] for name in modules(*command)}


HELP = "import sys; from perfembed.cli.main import run; sys.argv = ['perfembed', '--help']; run()"


@pytest.mark.gcc
def test_import_perfembed_is_light() -> None:
    names = loaded("-c", "import perfembed, optdb, profilers, scheduler")
    assert {"perfembed", "scheduler"} <= names
    assert not names & (HEAVY | {"typer"})


@pytest.mark.gcc
def test_finding_donors_needs_nothing_that_trains() -> None:
    code = (
        "from pathlib import Path; from perfembed.retrieval.retrieve import open_retrieval; "
        "from scheduler.moves.space import Target; "
        "import perfembed.tuning.file_tuner, perfembed.mapping.embed_file; open_retrieval(Target(2), None)"
    )
    names = loaded("-c", code)
    assert "numpy" in names
    assert not names & {"torch", "torch_geometric", "sklearn"}


@pytest.mark.gcc
@pytest.mark.parametrize(
    "arguments",
    [[], ["tune"], ["inspect"], ["doctor"], ["populate"], ["sql"], ["db"], ["db", "info"], ["compare"]],
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    names = loaded("-c", HELP.replace("'--help'", ", ".join(map(repr, [*arguments, "--help"]))))
    assert "typer" in names
    assert not names & HEAVY


@pytest.mark.gcc
def test_help_is_quick() -> None:
    """What it costs is modules, about a third of a millisecond each: a loaded machine makes no difference."""
    bare, shown = (len(modules("-c", code)) for code in ("pass", HELP))
    assert shown - bare < HELP_MODULES, shown - bare
