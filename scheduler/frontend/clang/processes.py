"""What a program does with signals, threads and its process that a nest must not have threads for, as far as its text
shows it. What shows when the program runs is asked then (`scheduler.codegen.emit.team_text`).

A signal handler that jumps leaves a nest in the middle, when threads still work at it. A handler may interrupt
anything, `malloc` and the OpenMP runtime as well, so that it can call neither (signal-safety(7)). Some calls are for
processes, or for threads, that are alone: unshare(2), setns(2), seccomp(2), pkeys(7).

Functions are followed by their names, in this file and others of the program; a macro is one of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

_JUMPS = frozenset((
    "longjmp", "siglongjmp", "_longjmp", "__builtin_longjmp", "setcontext", "swapcontext",
))  # fmt: skip
_INSTALLS = frozenset((
    "signal", "sigaction", "sigset", "bsd_signal", "sysv_signal", "__sysv_signal", "sigvec",
))  # fmt: skip
_ALONE = frozenset((
    "unshare", "setns", "SYS_unshare", "SYS_setns", "seccomp", "seccomp_init", "seccomp_load", "PR_SET_SECCOMP",
    "SYS_seccomp", "__NR_seccomp", "pkey_set", "pkey_alloc", "pkey_mprotect",
))  # fmt: skip
_NOTABLE = _JUMPS | _ALONE
ASKED = frozenset((  # what a team asks of the system by these names (`scheduler.codegen.emit.team_text`)
    "omp_get_max_threads", "omp_get_thread_limit", "omp_get_thread_num", "omp_get_active_level",
    "omp_get_max_active_levels", "gnu_get_libc_version", "getauxval", "getpid", "syscall", "getenv", "dladdr", "dlopen",
    "pthread_atfork", "pthread_create", "pthread_join", "pthread_mutex_lock", "pthread_mutex_unlock", "pthread_self",
    "pthread_getattr_np", "pthread_attr_getstack", "pthread_attr_destroy", "pthread_attr_init",
    "pthread_attr_setstacksize", "pthread_setcancelstate", "pthread_setcanceltype", "__errno_location",
))  # fmt: skip
_ALLOCATORS = frozenset(("malloc", "calloc", "realloc", "free"))  # the OpenMP runtime calls them, and so do blocks

_CALLS = "|".join(sorted(_INSTALLS)).encode()
_IGNORED = re.compile(rb'\\\r?\n|//(?:\\\r?\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)([^\n]*)", re.MULTILINE)
_DIRECTIVE = re.compile(rb"^[ \t]*#[^\n]*", re.MULTILINE)
_OTHER = re.compile(rb"^[ \t]*#(?![ \t]*define\b)[^\n]*", re.MULTILINE)
_BRACE = re.compile(rb"^\}|[{}]", re.MULTILINE)
_NAME = re.compile(rb"([A-Za-z_]\w*)\s*(\(?)")
_HANDLING = re.compile(
    rb"\b(?:(?:SIG[A-Z][A-Z0-9]+|sa_handler|sa_sigaction|struct\s+sigaction)\b|(?:%b)\s*\()" % _CALLS
)
_INSTALLING = re.compile(rb"\b(?:%b)\s*\((?![^;]*\bSIG_(?:IGN|DFL)\b)" % _CALLS)


@dataclass(frozen=True, slots=True)
class Processes:
    """`mentions`: by a function, those that it calls or has the address of; `installed`: what stands beside the
    installation of a signal handler; `values`: functions whose address is taken; `uses`: names that matter here;
    `installs`: by which of them handlers are installed; `own`: of `ASKED`, those that it has functions or variables of;
    `allocates`: of the functions that allocate memory, those that it has itself.
    """

    mentions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    installed: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    installs: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    allocates: frozenset[str] = frozenset()

    def united(self, others: Iterable[Processes]) -> Processes:
        """Of a program: two functions of one name are taken for one that does what both do."""
        parts = (self, *others)
        mentions: dict[str, frozenset[str]] = {}
        for part in parts:
            for name, found in part.mentions.items():
                mentions[name] = mentions.get(name, frozenset()) | found
        names = ("installed", "values", "uses", "installs", "own", "allocates")
        return Processes(mentions, *(frozenset().union(*(getattr(p, name) for p in parts)) for name in names))

    def alone(self) -> str:
        """Why no nest of the program may have threads; empty where they may."""
        for name in sorted(self.uses & _ALONE):
            return f"the program uses '{name}', which is for a thread that is alone in its process"
        for name in sorted(self.own):
            return f"the program has a '{name}' of its own, where threads need the system's"
        if not self.installs - self.mentions.keys():  # of functions that the program calls so itself
            return ""
        for handler in sorted((self.installed | self.values) & self.mentions.keys()):
            if jumps := sorted(self.reached((handler,)) & _JUMPS):
                return f"'{handler}', which may be a signal handler, may leave the loop by '{jumps[0]}'"
        return ""

    def handling(self) -> frozenset[str]:
        """Functions that signal handlers are, or call."""
        if not self.installs - self.mentions.keys():
            return frozenset()
        return self.reached(self.installed & self.mentions.keys())

    def reached(self, names: Collection[str]) -> frozenset[str]:
        """These functions and all that they mention, and these."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.mentions.get(name, ())
        return frozenset(found)


def processes(texts: Iterable[bytes]) -> Processes:
    """Of files: C text as it was written, or without what conditionals leave out."""
    called: dict[str, set[str]] = {}
    named: dict[str, set[str]] = {}
    installed, installs, allocates = set[str](), set[str](), set[str]()
    for text in texts:
        code = _IGNORED.sub(lambda m: b"" if m[0].startswith(b"\\") else b" ", text)
        functions = list(_bodies(code))
        allocates |= {name for names, _ in functions for name in names} & _ALLOCATORS
        for names, body in (*_macros(code), *functions):
            found = [(word.decode(), bool(call)) for word, call in _NAME.findall(body)]
            for name in names:
                called.setdefault(name, set()).update(word for word, call in found if call)
                named.setdefault(name, set()).update(word for word, call in found if not call)
        code = _OTHER.sub(b"", code)
        installs |= {call[0].partition(b"(")[0].strip().decode() for call in _INSTALLING.finditer(code)}
        for statement in code.split(b";"):
            if _HANDLING.search(statement):
                installed |= {word.decode() for word, call in _NAME.findall(statement) if not call}
    values = frozenset(word for found in named.values() for word in found) & (called.keys() - {""})
    mentions = {name: frozenset(found | named[name] & (values | _NOTABLE)) for name, found in called.items()}
    uses = frozenset().union(*mentions.values()) & _NOTABLE
    mentions.pop("", None)
    return Processes(mentions, frozenset(installed), values, uses, frozenset(installs), allocates=frozenset(allocates))


def _macros(code: bytes) -> Iterator[tuple[list[str], bytes]]:
    for define in _DEFINE.finditer(code):
        yield [define[1].decode()], define[2]


def _bodies(code: bytes) -> Iterator[tuple[list[str], bytes]]:
    """Of functions with their names (of what may be one); what stands elsewhere has the name ""."""
    code = _DIRECTIVE.sub(b"", code)
    depth = begin = last = 0
    head = b""
    for brace in _BRACE.finditer(code):
        if brace[0] == b"{":
            if depth == 0:
                head, begin = code[last : brace.start()].rpartition(b";")[2], brace.end()
            depth += 1
            continue
        depth = 0 if brace.start() == 0 or code[brace.start() - 1 : brace.start()] == b"\n" else max(depth - 1, 0)
        if depth == 0:
            names = [] if b"=" in head else [word.decode() for word, call in _NAME.findall(head) if call]
            yield names or [""], code[begin : brace.start()]
            yield [""], code[last:begin] if not names else b""
            last, head, begin = brace.end(), b"", brace.end()
    yield [""], code[last:]
