"""How large the house is and how it hangs together, measured on what is installed: lines, files, imports, floors."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from perfembed.cli.help import DEVELOPERS

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("perfembed", "optdb", "profilers", "scheduler")
SMALL, PARAMETERS = 80, 10
FRONT_END, COMMAND_LINE, MEASURED = "scheduler.frontend", "perfembed.cli.main", "profilers.run"

AIMS: Mapping[str, int] = {
    "lines": 72_000,
    "files": 480,
    "small modules with one importer": 30,
    "import edges": 2_800,
    "floors of the front end": 9,
    "floors from the command line to the measured process": 7,
    "fields of the largest frozen state of the front end": 12,
    "functions with ten parameters or more": 5,
    "imports inside functions": 150,
    "public functions without a docstring that another package calls": 0,
    "commands of users": 14,
    "options of tune in its help": 25,
}


@dataclass(frozen=True, slots=True)
class House:
    """Figures by the names of `AIMS`, and modules that are longer than 450 lines."""

    figures: Mapping[str, int]
    longest: tuple[tuple[int, str], ...]


class Modules:
    """Everything we ship: `paths`, dotted name -> file, and the trees of them."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.paths: dict[str, Path] = {}
        for package in PACKAGES:
            for path in sorted((root / package).rglob("*.py")):
                parts = path.relative_to(root).with_suffix("").parts
                self.paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        return {name: ast.parse(path.read_text(), str(path)) for name, path in self.paths.items()}

    def imported(self, name: str, everywhere: bool) -> Iterator[str]:
        """Modules and members a module imports: all of them, or only when it is itself imported."""
        for node in walk(self.trees[name], everywhere):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield from self.of(name, node)

    def of(self, name: str, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        """What one import statement of a module names."""
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
            return
        base = node.module or ""
        if node.level:
            package = name.split(".") if self.paths[name].name == "__init__.py" else name.split(".")[:-1]
            base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
        for alias in node.names:
            member = f"{base}.{alias.name}"
            yield member if member in self.paths else base

    def edges(self, everywhere: bool) -> dict[str, set[str]]:
        """What importing each module imports of ours. A package's own `__init__` counts only where it is named."""
        return {
            name: {t for t in self.imported(name, everywhere) if t in self.paths and t != name} for name in self.paths
        }


def walk(node: ast.AST, everywhere: bool) -> Iterator[ast.AST]:
    """The nodes below one; not `everywhere`: without functions' bodies and imports for type checkers."""
    for child in ast.iter_child_nodes(node):
        if not everywhere:
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
        yield child
        yield from walk(child, everywhere)


def measure(modules: Modules) -> House:
    """Static figures; what commands and options there are is read of the sources, too."""
    edges = modules.edges(everywhere=True)
    importers = Counter(target for targets in edges.values() for target in targets)
    lines = {name: len(path.read_text().splitlines()) for name, path in modules.paths.items()}
    bare = {n for n in lines if modules.paths[n].name != "__init__.py"}
    functions = [f for tree in modules.trees.values() for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)]
    inside = {n for n in modules.paths if n.startswith(FRONT_END)}
    commands, options = _shown(modules.root)
    figures = {
        "lines": sum(lines.values()),
        "files": len(lines),
        "small modules with one importer": sum(importers[n] == 1 and lines[n] < SMALL for n in bare),
        "import edges": sum(map(len, edges.values())),
        "floors of the front end": floors({n: edges[n] & inside for n in inside}),
        "floors from the command line to the measured process": _distance(edges, COMMAND_LINE, MEASURED),
        "fields of the largest frozen state of the front end": _largest_state(modules, inside),
        "functions with ten parameters or more": sum(_parameters(f) >= PARAMETERS for f in functions),
        "imports inside functions": sum(map(_late_imports, modules.trees.values())),
        "public functions without a docstring that another package calls": len(undocumented(modules)),
        "commands of users": commands,
        "options of tune in its help": options,
    }
    longest = sorted(((count, name) for name, count in lines.items() if count > 450), reverse=True)
    return House(figures, tuple(longest))


def floors(graph: Mapping[str, set[str]]) -> int:
    """Modules on the longest chain of imports."""
    heights: dict[str, int] = {}

    def height(name: str) -> int:
        if name not in heights:
            heights[name] = 1 + max(map(height, graph[name]), default=0)
        return heights[name]

    return max(map(height, graph), default=0)


def _distance(edges: Mapping[str, set[str]], begin: str, end: str) -> int:
    """Folders on the longest chain of imports between packages' rooms, from one module's to another's."""
    rooms: dict[str, set[str]] = {}
    for name, targets in edges.items():
        rooms.setdefault(_room(name), set()).update({_room(t) for t in targets} - {_room(name)})
    longest: dict[str, int] = {}

    def far(room: str, path: tuple[str, ...]) -> int:
        if room == _room(end):
            return 1
        if room in path:
            return -1
        if room not in longest:
            found = max((far(r, (*path, room)) for r in rooms[room]), default=-1)
            longest[room] = found + 1 if found > 0 else -1
        return longest[room]

    return far(_room(begin), ())


def _room(module: str) -> str:
    parts = module.split(".")
    own = parts[0] in ("perfembed", "scheduler") or parts[1:2] == ["contained"]
    return ".".join(parts[:2]) if own else parts[0]


def _largest_state(modules: Modules, names: set[str]) -> int:
    """Fields and attributes of the class that has most: annotated in it, or set on `self` in its `__init__`."""
    most = 0
    for name in names:
        for node in ast.walk(modules.trees[name]):
            if isinstance(node, ast.ClassDef):
                own = {
                    n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
                }
                for init in node.body:
                    if isinstance(init, ast.FunctionDef) and init.name == "__init__":
                        own |= {
                            n.attr
                            for n in ast.walk(init)
                            if isinstance(n, ast.Attribute)
                            and isinstance(n.ctx, ast.Store)
                            and isinstance(n.value, ast.Name)
                            and n.value.id == "self"
                        }
                most = max(most, len(own))
    return most


def _parameters(function: ast.FunctionDef) -> int:
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len([n for n in names if n not in ("self", "cls")])


def _late_imports(tree: ast.AST) -> int:
    everywhere = sum(isinstance(n, ast.Import | ast.ImportFrom) for n in walk(tree, everywhere=True))
    first = sum(isinstance(n, ast.Import | ast.ImportFrom) for n in walk(tree, everywhere=False))
    typed = sum(
        isinstance(n, ast.Import | ast.ImportFrom)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for n in ast.walk(block)
    )
    return everywhere - first - typed


def undocumented(modules: Modules) -> list[str]:
    """Public functions and methods' modules: `module.function` that another package imports and nobody described."""
    wanted: set[tuple[str, str]] = set()
    for name, tree in modules.trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and not node.level and node.module in modules.paths:
                away = node.module.split(".")[0] != name.split(".")[0]
                wanted |= {(node.module, alias.name) for alias in node.names if away}
    found = []
    for module, function in sorted(wanted):
        for node in modules.trees[module].body if isinstance(modules.trees[module], ast.Module) else ():
            if isinstance(node, ast.FunctionDef) and node.name == function and not ast.get_docstring(node):
                found.append(f"{module}.{function}")
    return found


_COUNT = """
from typer.main import get_command
from perfembed.cli.main import app
def shown(things):
    return [t for t in things if not t.hidden and getattr(t, "rich_help_panel", None) != PANEL]
def count(command):
    return sum(map(count, shown(command.commands.values()))) if hasattr(command, "commands") else 1
all = get_command(app)
print(count(all), len(shown(p for p in all.commands["tune"].params if p.opts[0].startswith("-"))))
"""


def _shown(root: Path) -> tuple[int, int]:
    """Commands in the help of `perfembed` and its groups, and options in that of `tune`, without developers'."""
    code = _COUNT.replace("PANEL", repr(DEVELOPERS))
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    commands, options = map(int, done.stdout.split())
    return commands, options
