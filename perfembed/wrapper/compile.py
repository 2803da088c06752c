"""Compiles as the real compiler does, and then the files with known nests once more, with their schedules in them.

The first compilation gives the diagnostics, the exit code and every file that is asked for; the second takes the place
of the object, or of the program, where everything went well.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perfembed.building.arguments import CommandLine, Input, options
from perfembed.wrapper.known import Known, known_schedules

if TYPE_CHECKING:
    from profilers.build import CompilerConfig

_LAUNCHERS = ("ccache", "distcc", "sccache", "icecc")
_OUTPUTS = ("-o", "-MD", "-MMD", "-MP", "-MG", "-MF", "-MT", "-MQ", "-MJ")
_SUFFIX = {"compile": ".o", "assemble": ".s"}
_LOOP = b"for"


@dataclass(frozen=True, slots=True)
class Written:
    """A file to compile in place of another, with these flags; `nests` says what is in it."""

    text: Path
    flags: tuple[str, ...]
    nests: str


class Wrapper:
    """One call of the compiler: `compiler` (with launchers in front) and its `words`, which `line` has taken apart."""

    def __init__(
        self,
        compiler: Sequence[str],
        words: Sequence[str],
        line: CommandLine,
        database: Path,
        cache: Path | None,
        environment: Mapping[str, str],
        say: Callable[[str], None],
        warn: Callable[[str], None],
    ) -> None:
        """`cache`: a folder for what was read of the database; `say`: a line for who wants to know; `warn`: for all."""
        self.compiler, self.words, self.line = tuple(compiler), tuple(words), line
        self.database, self.cache = database, cache
        self.environment, self.say, self.warn = environment, say, warn

    def run(self) -> int | None:
        """The exit code; None where nothing is known of anything, and nothing was done."""
        texts = self._with_loops()
        if not texts:
            return None
        try:
            known = known_schedules(self.database, _fingerprint, self.cache)
        except Exception as problem:
            self.say(f"{self.database}: {problem}")
            return None
        if not known:
            return None
        from scheduler.frontend.parsing import prepare_parser

        prepare_parser()
        plain = subprocess.Popen([*self.compiler, *self.words])
        try:
            again = self._again(texts, known, plain)
        except Exception as problem:  # whatever it is: what was compiled is right
            self.say(f"compiled as it is: {' '.join(str(problem).split())}")
            again = None
        except BaseException:
            plain.kill()
            raise
        code = plain.wait() if again is None else again
        return 128 - code if code < 0 else code

    def _with_loops(self) -> list[tuple[Input, bytes]]:
        found = []
        for source in self.line.sources:
            try:
                content = Path(source.path).read_bytes()
            except OSError:
                continue  # the compiler says so
            if _LOOP in content and b"\0" not in content:
                found.append((source, content))
        return found

    def _again(self, texts: list[tuple[Input, bytes]], known: Known, plain: subprocess.Popen[bytes]) -> int:
        """Waits for the compiler, and puts what is faster in the place of what it made. Its exit code."""
        from profilers.build import CompilerConfig
        from profilers.contained.scratch import scratch_folder
        from scheduler.frontend import ParserStopped

        name = next((word for word in self.compiler if os.path.basename(word) not in _LAUNCHERS), self.compiler[-1])
        compiler = CompilerConfig(name, tuple(self.line.compile))
        with scratch_folder() as scratch:
            written: dict[int, Written] = {}
            for number, (source, content) in enumerate(texts):
                folder = scratch / str(number)
                folder.mkdir()
                try:
                    found = self._text(source.path, content, compiler, known, folder)
                except ParserStopped as problem:
                    self.warn(f"warning: {source.path}: compiled as it is, without its schedules: {problem.reason}")
                    continue
                except Exception as problem:  # of one file: the others may go on
                    found = " ".join(str(problem).split())
                if isinstance(found, str):
                    self.say(f"{source.path}: compiled as it is: {found}")
                else:
                    written[source.position] = found
            code = plain.wait()
            if code == 0 and written:
                self._exchange(written)
            return code

    def _text(self, path: str, content: bytes, compiler: CompilerConfig, known: Known, folder: Path) -> Written | str:
        """Writes the text to compile in place of a file, or says why there is none."""
        from perfembed.wrapper.known import with_known_nests

        source, chosen = with_known_nests(path, content, compiler, known)
        if not chosen:
            return "the database has nothing for its nests"
        from perfembed.measuring.target import target_of  # these here, not above: most files need none of it
        from perfembed.wrapper.splicing import spliced
        from profilers.machine import describe_machine

        vector_bytes = target_of(describe_machine(), 1).vector_bytes
        found = spliced(source, chosen, compiler, vector_bytes, self.environment, folder)
        if isinstance(found, str):
            return found
        text = folder / os.path.basename(path)
        text.write_bytes(found.text)
        return Written(text, found.flags, f"{path}: {', '.join(f'{n} ({x:.2f}x)' for n, x in found.nests)}")

    def _exchange(self, written: Mapping[int, Written]) -> None:
        if self.line.stage == "link":
            self._replace(self.line.output or "a.out", written, None)
            return
        for position in written:
            source = next(one for one in self.line.inputs if one.position == position)
            default = os.path.splitext(os.path.basename(source.path))[0] + _SUFFIX[self.line.stage]
            self._replace(self.line.output or default, {position: written[position]}, position)

    def _replace(
        self,
        output: str,
        written: Mapping[int, Written],
        only: int | None,
    ) -> None:
        """Compiles the texts (`only` that of one input) and puts what comes of it where the compiler put its own."""
        from profilers.contained.scratch import unfinished_file

        if not os.path.isfile(output) or os.path.islink(output):
            return
        flags = dict.fromkeys(flag for one in written.values() for flag in one.flags)
        with unfinished_file(os.path.dirname(os.path.abspath(output))) as unfinished:
            words = [*self.compiler, *self._with_texts(written, only), "-w", *flags, "-o", str(unfinished)]
            words += [f"-fdebug-prefix-map={one.text.parent}={os.curdir}" for one in written.values()]
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
            )
            said = " ".join(done.stderr.decode(errors="replace").split())[:500]
            if done.returncode != 0:
                self.say(f"compiled as it is: {said}")
                return
            os.chmod(unfinished, os.stat(output).st_mode & 0o7777)
            os.replace(unfinished, output)
        for one in written.values():
            self.say(f"spliced {one.nests}")

    def _with_texts(self, written: Mapping[int, Written], only: int | None) -> list[str]:
        """The words with the texts in place of their files, without outputs and files of dependencies."""
        inputs = {one.position: one for one in self.line.inputs}
        found: list[str] = []
        folders = dict.fromkeys(os.path.dirname(os.path.abspath(inputs[position].path)) for position in written)
        for folder in folders:
            found += ["-iquote", folder]
        position = 0
        for option in options(self.line.words):
            if position in written:
                found.append(str(written[position].text))
            elif not (position in inputs and only is not None) and not option[0].startswith(_OUTPUTS):
                found += option
            position += len(option)
        return found


def _fingerprint() -> str:
    from profilers.machine import describe_machine  # here, not above: only a database with schedules needs it

    return describe_machine().fingerprint
