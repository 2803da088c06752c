"""The build that a command of the user's makes: run in copies of the project's folder, with our texts in them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from perfembed.building.arguments import CommandLine, expanded
from perfembed.building.build import Changes, Made, NotBuilt, Unit
from perfembed.building.compile_commands import units_of
from perfembed.building.compiling import said
from perfembed.building.tree import Tree
from perfembed.capture.stage import writable_for
from perfembed.errors import SourceRejected
from profilers.build import CompilerConfig
from profilers.contained.child import Command, Limits, confines_writes
from profilers.contained.supervisor import supervisor_binary
from profilers.run import run_many

BUILD_LIMITS = Limits(wall_s=1800.0, memory_bytes=64 << 30, processes=4096, output_bytes=4 << 20)


class BuildCommand:
    """`command` for the shell, in `folder`; it makes `program`, a path in there or a name on the search path.

    With no `program` it is the one that the build links.
    """

    def __init__(
        self,
        command: str,
        program: str | None,
        folder: Path,
        scratch: Path,
        environment: Mapping[str, str],
        writable: tuple[Path, ...] = (),
    ) -> None:
        """Builds it once, to see how. `writable`: folders outside of the copies that it may write to.

        Raises SourceRejected, and UsageError where the folder is too large to copy.
        """
        self.command = command
        self.writable = writable
        self.folder = folder.resolve()
        self.environment = {**environment, "LC_ALL": "C"}
        self._trees: dict[Path, Tree] = {}
        self._begin_as_built = True  # until it is seen that the build does not make anew what it should
        self._fails_anew = False  # whether what fails in a copy that was built in has failed in a new one, too
        supervisor_binary(environment.get("PATH", os.defpath))  # compiled by the real compiler
        tree = self._tree(scratch.absolute() / "recorded")
        entries = self._run([(tree, Changes())])
        if entries[0]:
            advice = "it is run in a copy of the folder, and can write to nothing else: --writable DIR lets it"
            raise SourceRejected(f"the build fails: {command}: {entries[0]}", advice if confines_writes() else "")
        self._recorded = tree
        self.units: Sequence[Unit] = self._units(tree)
        if not self.units:
            raise SourceRejected(
                f"the build compiles no C file, as far as can be seen: {command}",
                "compilers are recognized by their names on the search path: --build 'make CC=gcc …'; "
                "what CMake has configured is configured anew: --build 'cmake -B b && cmake --build b'",
            )
        self.program = program if program is not None else self._linked(tree)

    @property
    def compiler(self) -> CompilerConfig:
        return self.units[0].compiler

    def make_all(self, wanted: Sequence[tuple[Changes, Path]]) -> tuple[Made | NotBuilt, ...]:
        if all(self._changes_nothing(changes) for changes, _ in wanted):
            return (self._made(self._recorded),) * len(wanted)
        jobs = [(self._tree(workdir.absolute(), changes), changes) for changes, workdir in wanted]
        for tree, changes in jobs:
            if tree.built and self._recorded.includes(self._names(changes)):
                tree.begin_anew()
        problems = self._run(jobs)
        doubtful = [k for k, (tree, _) in enumerate(jobs) if self._is_doubtful(tree, problems[k])]
        for k in doubtful:
            jobs[k][0].begin_anew()
        for k, problem in zip(doubtful, self._run([jobs[k] for k in doubtful]), strict=True):
            self._fails_anew |= bool(problem)
            self._begin_as_built &= bool(problem)
            problems[k] = problem
        return tuple(
            NotBuilt(problem) if problem else self._made(tree)
            for (tree, _), problem in zip(jobs, problems, strict=True)
        )

    def _is_doubtful(self, tree: Tree, problem: str) -> bool:
        """Whether a build in a copy where something was built before may have ended otherwise than a first one."""
        if tree.like is None and tree.built == 1:
            return False
        return not self._fails_anew if problem else not tree.has_made(self.program)

    def problem(self, changes: Changes, workdir: Path) -> str:
        found = self.make_all(((changes, workdir),))[0]
        return found.reason if isinstance(found, NotBuilt) else ""

    def _changes_nothing(self, changes: Changes) -> bool:
        """Whether the program is the one that was built to see how."""
        if changes.flags or changes.objects or changes.link:
            return False
        recorded = self._recorded.folder
        return all((recorded / self._inside(path)).read_bytes() == text for path, text in changes.texts.items())

    def named(self, text: str) -> str:
        """A text that names files of the first copy, with the names that they have in the project's folder."""
        return self._recorded.named(text)

    def unchanged(self, path: str) -> bool:
        """Whether a file of the project is the user's and not one that the build makes or changes."""
        copy = self._recorded.folder / self._inside(path)
        try:
            return copy.read_bytes() == Path(path).read_bytes()
        except OSError:
            return False

    def objects(self) -> Mapping[str, Sequence[Path]]:
        """The object files that the first build compiled files of ours to, by real paths; of none with -flto."""
        if any(flag.startswith("-flto") for unit in self.units for flag in unit.compiler.flags):
            return {}
        return {os.path.realpath(self.folder / name): paths for name, paths in self._recorded.objects().items()}

    def _tree(self, workdir: Path, changes: Changes | None = None) -> Tree:
        if workdir not in self._trees:
            like = None
            if changes is not None and self._begin_as_built and self._recorded.serves(self._names(changes)):
                like = self._recorded
            self._trees[workdir] = Tree(self.folder, workdir, self.environment, like)
        return self._trees[workdir]

    def _names(self, changes: Changes) -> list[str]:
        """Of the files with texts of ours, in the folder."""
        return [self._inside(path) for path in changes.texts]

    def _run(self, jobs: Sequence[tuple[Tree, Changes]]) -> list[str]:
        """What the builds say where they fail; several at a time, each in its own folder."""
        commands = []
        for tree, changes in jobs:
            tree.change({self._inside(path): text for path, text in changes.texts.items()}, changes)
            environment = {**tree.standin.environment, "TMPDIR": str(tree.temporary)}
            places = writable_for(self.folder, (tree.workdir, *self.writable))
            words = ("/bin/sh", "-c", self.command)
            commands.append(Command(words, BUILD_LIMITS, environment, tree.folder, writable=places))
        done = run_many(commands, jobs=max(1, (os.cpu_count() or 1) // 2))
        return ["" if one.ok else tree.named(said(one, last=True)) for (tree, _), one in zip(jobs, done, strict=True)]

    def _inside(self, path: str) -> str:
        """A file's name in the project's folder. Raises SourceRejected where it lies elsewhere."""
        for found in (os.path.realpath(path), os.path.abspath(path)):  # what a link leads to is copied, too
            name = os.path.relpath(found, self.folder)
            if name.split(os.sep)[0] != os.pardir:
                return name
        raise SourceRejected(
            f"{path}: lies outside of {self.folder}, which is copied to build it",
            "run perfembed in a folder that holds all of the program: --build 'make -C DIR …'",
        )

    def _units(self, tree: Tree) -> list[Unit]:
        """The C files below the project's folder, as each was compiled first, with the names they have there."""
        found: dict[str, Unit] = {}
        for words, directory in tree.standin.entries():
            for unit in units_of(words, directory):
                real = os.path.realpath(unit.path)
                inside = os.path.relpath(real, tree.folder)
                if inside.startswith(os.pardir) or inside in found:
                    continue
                flags = (*unit.compiler.flags, "-iquote", os.path.dirname(real))
                path = os.path.relpath(self.folder / inside)
                found[inside] = Unit(path, CompilerConfig(unit.compiler.cc, flags), unit.directory, unit.alone)
        return list(found.values())

    def _linked(self, tree: Tree) -> str:
        """The one program that the build links. Raises SourceRejected."""
        outputs: dict[str, None] = {}
        for words, directory in tree.standin.entries():
            line = CommandLine(expanded(words[1:], directory))
            if line.links_program:
                output = os.path.realpath(os.path.join(directory, line.output or "a.out"))
                inside = os.path.relpath(output, tree.folder)
                if os.path.exists(output) and not inside.startswith(os.pardir):
                    outputs[inside] = None
        if len(outputs) != 1:
            what = f"{len(outputs)} programs ({', '.join(outputs)})" if outputs else "no program"
            raise SourceRejected(f"the build makes {what}", "--run './prog args' says what to run")
        return os.path.join(os.curdir, *outputs)

    def _made(self, tree: Tree) -> Made | NotBuilt:
        inside = tree.folder / self.program
        if os.sep in self.program or inside.exists():
            if not os.access(inside, os.X_OK):
                return NotBuilt(f"the build makes no program {self.program}")
            return Made(inside, tree.folder, self.folder, tree.built)
        found = shutil.which(self.program, path=self.environment.get("PATH", os.defpath))
        return (
            NotBuilt(f"there is no program {self.program}")
            if found is None
            else Made(Path(found), tree.folder, self.folder, tree.built)
        )
