"""Runs the examples of the README, the tutorial and the guides anew: `python -m docs.examples [PAGE]...`.

A block of the console that begins with a command is run in a copy of the checkout, and its outputs are replaced.
Where lines were left out (`…`), those stay that stood there, or begin with the same words, in their order.
Where nothing was shown nothing is. A comment above the block says where it is run, `<!-- run in FOLDER -->`, what is
run before it, `<!-- run after: COMMAND -->`, or that it is not, `<!-- not run: why -->`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "README.md",
    "docs/tutorial.md",
    *(f"docs/guides/{p.name}" for p in sorted((ROOT / "docs/guides").glob("*.md"))),
)
_BLOCK = re.compile(r"(?:<!-- (not run|run after|run in):? ([^\n]*?) -->\n\n?)?```console\n(.*?)```", re.DOTALL)
_COPIED = ("tests/kernels", "tests/programs", "tests/perfembed/building/grid", "perfembed/demo")
_LEFT_OUT = "…"
_WRAPPED = " " * 20  # what begins a line that goes on
_MINUTES = 10


@dataclass(frozen=True, slots=True)
class Shown:
    """A command as it stands on a page, over several lines maybe, and the lines that are shown below it."""

    command: str
    output: tuple[str, ...]


def shown(block: str) -> list[Shown]:
    """What a block has; lines before the first command are none."""
    found: list[Shown] = []
    lines = iter(block.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command += "\n" + next(lines)
            found.append(Shown(command, ()))
        elif found:
            found[-1] = Shown(found[-1].command, (*found[-1].output, line))
    return found


def fitted(new: Sequence[str], old: Sequence[str]) -> list[str]:
    """The new output, shortened as the old one was."""
    if not any(line.strip() == _LEFT_OUT for line in old):
        return list(new) if old else []
    same = set(old) & set(new)
    kinds = [[line if line in same else _kind(line) for line in lines] for lines in (old, new)]
    kept = {
        b + k
        for _, b, size in SequenceMatcher(None, kinds[0], kinds[1], autojunk=False).get_matching_blocks()
        for k in range(size)
    }
    fitting: list[str] = []
    for number, line in enumerate(new):
        goes_on = line.startswith(_WRAPPED) and fitting[-1:] not in ([], [_LEFT_OUT])
        if not (number in kept or goes_on):
            if fitting[-1:] == [""]:
                fitting.pop()
            fitting.append(_LEFT_OUT)
        elif line or fitting[-1:] != [_LEFT_OUT]:
            fitting.append(line)
    return [line for k, line in enumerate(fitting) if line != _LEFT_OUT or fitting[k - 1 : k] != [_LEFT_OUT]]


def _kind(line: str) -> str:
    """How far it is indented, and its first word; numbers are all the same."""
    words = line.split(maxsplit=1) or [""]
    return " " * (len(line) - len(line.lstrip())) + re.sub(r"\d+", "0", words[0])


def run(commands: Sequence[Shown], folder: Path, environment: dict[str, str]) -> list[list[str]]:
    """What each command of a block prints, stderr left out where it succeeds; they share a shell."""
    script = [f"cd '{folder}'"]
    files = [(folder / f".out{number}", folder / f".err{number}") for number in range(len(commands))]
    for one, (out, errors) in zip(commands, files, strict=True):
        script.append(f"{{ {one.command}\n}} >'{out}' 2>'{errors}' || cat '{errors}' >>'{out}'")
    subprocess.run(["bash", "-c", "\n".join(script)], env=environment, check=False, timeout=60 * _MINUTES)
    outputs = [out.read_text(encoding="utf-8") if out.exists() else "" for out, _ in files]
    for written in (file for pair in files for file in pair):
        written.unlink(missing_ok=True)
    return [output.rstrip("\n").replace(environment["HOME"], "~").splitlines() for output in outputs]


def anew(text: str, folder: Path, environment: dict[str, str]) -> Iterator[tuple[str, str]]:
    """(block as it stood, as it is now) of a page, in order."""
    for match in _BLOCK.finditer(text):
        commands = shown(match[3])
        how, what = match[1] or "run in", match[2] or "."
        if how == "not run" or not commands:
            continue
        before = [Shown(what, ())] if how == "run after" else []
        outputs = run([*before, *commands], folder if before else folder / what, environment)[len(before) :]
        lines: list[str] = []
        for one, output in zip(commands, outputs, strict=True):
            lines += [f"$ {one.command}", *fitted(output, one.output)]
        yield match[3], "\n".join(lines) + "\n"


def main(pages: Sequence[str]) -> None:
    for page in pages or PAGES:
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, "perfembed")
            for part in _COPIED:
                shutil.copytree(ROOT / part, folder / part)
            environment = {
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "HOME": scratch,
                "PYTHONPATH": str(ROOT),
                "LC_ALL": "C.UTF-8",
            }
            for old, new in anew(text, folder, environment):
                text = text.replace(old, new, 1)
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
            print(f"wrote {page}")


if __name__ == "__main__":
    main(sys.argv[1:])
