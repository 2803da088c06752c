"""The parser process: a request on stdin, the nests (or diagnostics) on stdout, both pickled."""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
import threading
import time
from dataclasses import replace
from typing import Any

from profilers.contained.limits import lower_limit
from scheduler.frontend.c_ast.lower import Lowering
from scheduler.frontend.c_ast.macro_loops import check_macro_loops
from scheduler.frontend.clang.dialect import flags_in
from scheduler.frontend.clang.lexical import uses_trigraphs
from scheduler.frontend.clang.libclang import cindex, included_texts, macro_texts
from scheduler.frontend.clang.processes import processes
from scheduler.frontend.fixes.suggest import suggestions
from scheduler.frontend.model import BLOCKED_S, Failure, Request, SourceFile, without_threads
from scheduler.frontend.openmp.expanded import expand_pragmas
from scheduler.frontend.pipeline import run_passes
from scheduler.frontend.scop.detection import extract

_SOMETHING_S = 0.01
_SMALL_BYTES = 1 << 20
_STACK_BYTES = 256 << 20
_MAX_DIAGNOSTICS = 20
_MAX_READ = 1000  # errors in headers looked at for one in the file


def parse(request: Request) -> SourceFile | Failure:
    """Parse and extract, in this process."""
    index = cindex.Index.create()
    try:
        tu = index.parse(
            request.path,
            args=list(request.arguments),
            unsaved_files=[(request.path, request.content)],
            options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD,  # knows what conditionals leave out
        )
    except cindex.TranslationUnitLoadError:
        if _reads_nothing(index, request):
            return Failure(reason=f"the C parser does not understand the flags {' '.join(request.arguments)}")
        return Failure(reason="the C parser crashed on this file")
    errors: list[str] = []
    warnings: list[str] = []
    for diagnostic in tu.diagnostics:
        if diagnostic.severity < cindex.Diagnostic.Error:
            continue
        location = diagnostic.location
        name = location.file.name if location.file is not None else request.path
        text = f"{name}:{location.line}:{location.column}: {diagnostic.spelling}"
        foreign = location.file is not None and name != request.path
        (warnings if foreign and diagnostic.severity == cindex.Diagnostic.Error else errors).append(text)
        if len(errors) == _MAX_DIAGNOSTICS or len(warnings) == _MAX_READ:
            break
    if errors:
        return Failure(diagnostics=tuple(errors))
    texts = (request.content, *included_texts(tu).values())
    dialect = request.dialect.joined(flags_in(texts))
    unit = Lowering(tu, request.path, request.content, uses_trigraphs(request.arguments), dialect).run()
    unit.macros = macro_texts(tu, texts)
    expand_pragmas(index, request, unit)
    printed = run_passes(unit, request.print_after)
    check_macro_loops(index, request, unit)
    unit.warnings.extend(warnings[:_MAX_DIAGNOSTICS])
    found = replace(processes((unit.source.active, *included_texts(tu).values())), own=frozenset(unit.own))
    source = extract(unit, request.given, request.print_after)
    source = without_threads(replace(source, processes=found, printed=(*printed, *source.printed)), found)
    if not request.fixes:
        return source
    return replace(source, fixes=suggestions(tu, request.path, request.content, dialect.wraps, source))


def _reads_nothing(index: Any, request: Request) -> bool:
    """Whether not even an empty file can be parsed with these flags."""
    try:
        index.parse("empty.c", args=list(request.arguments), unsaved_files=[("empty.c", "")])
    except cindex.TranslationUnitLoadError:
        return True
    return False


def _end_where_blocked() -> None:
    """Ends the process where it does nothing twice in a row: on the busiest machine it would have done something."""
    spent_s, idle = time.process_time(), 0  # one of two may be a stop from outside
    while idle < 2:
        time.sleep(BLOCKED_S / 2)
        now_s = time.process_time()
        idle = idle + 1 if now_s - spent_s < _SOMETHING_S else 0
        spent_s = now_s
    os.kill(os.getpid(), signal.SIGALRM)


def main() -> None:
    request = pickle.load(sys.stdin.buffer)
    lower_limit(resource.RLIMIT_AS, request.memory_bytes)
    lower_limit(resource.RLIMIT_CORE, 0)
    left_s = request.timeout_s - time.process_time()
    signal.setitimer(signal.ITIMER_PROF, max(left_s, 1e-6))  # SIGPROF ends it; finer than RLIMIT_CPU, which may be set
    sys.setrecursionlimit(20_000)
    answer: list[SourceFile | Failure] = []

    def work() -> None:
        try:
            answer.append(parse(request))
        except MemoryError:
            answer.append(Failure(no_memory=True))
        except RecursionError:
            answer.append(Failure(reason="the file nests too deeply"))

    try:
        threading.stack_size(_SMALL_BYTES)
        threading.Thread(target=_end_where_blocked, daemon=True).start()
        threading.stack_size(_STACK_BYTES)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    except RuntimeError:  # no room for its stack
        answer.append(Failure(no_memory=True))
    if answer:
        sys.stdout.buffer.write(pickle.dumps(answer[0], protocol=pickle.HIGHEST_PROTOCOL))
        sys.stdout.buffer.flush()
