"""The parser process: requests come through a socket, its standard input; so go the nests (or diagnostics) of each.

Each is answered by a process of its own, forked for it: what takes longest, to load libclang, is done once, and a file
that the parser does not survive ends nothing else.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import selectors
import signal
import socket
import sys
import threading
import time
from dataclasses import replace
from typing import Any

from profilers.contained.limits import die_with_parent, lower_limit
from scheduler.frontend.c_ast.lower import Lowering
from scheduler.frontend.c_ast.macro_loops import check_macro_loops
from scheduler.frontend.clang.dialect import flags_in
from scheduler.frontend.clang.lexical import uses_trigraphs
from scheduler.frontend.clang.libclang import cindex, included_texts, macro_texts
from scheduler.frontend.clang.processes import processes
from scheduler.frontend.fixes.suggest import suggestions
from scheduler.frontend.framing import frame, received
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
    """Answers one request after the other, until there are no more: (exit code, what was found, what was said)."""
    started_s = time.process_time()
    gc.freeze()  # what the processes below share with this one
    with socket.socket(fileno=0) as asked:
        while (data := received(asked)) is not None:
            asked.sendall(frame(pickle.dumps(_answered(data, started_s, asked))))


def _answered(data: bytes, started_s: float, asked: socket.socket) -> tuple[int, bytes, bytes]:
    pipes = [os.pipe(), os.pipe()]
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            die_with_parent(parent)
            asked.close()
            for number, (ours, theirs) in enumerate(pipes, 1):
                os.dup2(theirs, number)
                os.close(ours)
            request, folder = pickle.loads(data)
            if folder:  # where the request comes from, relative paths mean something
                os.chdir(folder)
            _answer(request, started_s)
            code = 0
        except Exception as error:  # as the interpreter would say it
            os.write(2, f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
        finally:
            os._exit(code)
    found = {ours: bytearray() for ours, _ in pipes}
    with selectors.DefaultSelector() as selector:
        for ours, theirs in pipes:
            os.close(theirs)
            selector.register(ours, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                chunk = os.read(key.fd, 1 << 20)
                found[key.fd] += chunk
                if not chunk:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    output, errors = (bytes(found[ours]) for ours, _ in pipes)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), output, errors


def _answer(request: Request, started_s: float) -> None:
    """Writes to standard output what one request finds; `started_s`: of processor time, that the start took."""
    lower_limit(resource.RLIMIT_AS, request.memory_bytes)
    lower_limit(resource.RLIMIT_CORE, 0)
    left_s = request.timeout_s - started_s - time.process_time()
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
