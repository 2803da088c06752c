"""C files around a program: its main called from elsewhere, its functions called with arguments of all kinds."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from scheduler.frontend import Function
from tests.campaigns.written.model import Drive

_NO_ARGUMENTS = re.compile(r"\bmain\s*\(\s*(?:void\s*)?\)")
_REGION = """#include <omp.h>
int main(int argc, char **argv)
{
    int code = 0;
    (void)argc, (void)argv;
#pragma omp parallel num_threads(3)
    if (omp_get_thread_num() == omp_get_num_threads() - 1)
        code = pe_program_main(ARGUMENTS);
    return code;
}
"""
_THREADS = """#include <pthread.h>
static int pe_argc, pe_code;
static char **pe_argv;

static void *pe_run(void *nothing)
{
    (void)pe_argc, (void)pe_argv;
    pe_code = pe_program_main(ARGUMENTS);
    return nothing;
}

int main(int argc, char **argv)
{
    pthread_attr_t small;
    pe_argc = argc;
    pe_argv = argv;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    for (int k = 0; k < 2; k++) {
        pthread_t thread;
        if (pthread_create(&thread, &small, pe_run, NULL))
            return 96;
        pthread_join(thread, NULL);
    }
    return pe_code;
}
"""
_CALLED = """#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PE_ELEMENTS = 65536, PE_POINTERS = POINTERS };

static __thread unsigned pe_state;

static unsigned pe_random(void)
{
    pe_state = pe_state * 1664525u + 1013904223u;
    return pe_state >> 8;
}

/* Whole numbers in [1, below), so that they may be subscripts; fractions where the type has them. */
#define PE_FILL(T, p) \\
    for (long k = 0; k < (long)PE_ELEMENTS * PE_POINTERS; k++) \\
        (p)[k] = (T)0.5 != 0 ? (T)(pe_random() / 16777216.0 - 0.4) \\
                             : (T)(below > 2 ? 1 + pe_random() % (unsigned)(below - 1) : below - 1)

static unsigned long long pe_hash(unsigned long long h, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ p[i]) * 1099511628211ULL;
    return h;
}

/* All that is not a number counts as the same. */
#define PE_HASH(T, p) \\
    for (long k = 0; k < (long)PE_ELEMENTS * PE_POINTERS; k++) \\
        h = (p)[k] == (p)[k] ? pe_hash(h, &(p)[k], sizeof(T)) : h * 31
"""
_ONCE = """static void pe_call_apart(int k)
{
    printf("%d: %016llx\\n", k, pe_call(k));
}

"""
_TWICE = """#include <pthread.h>

static void *pe_thread_run(void *number)
{
    unsigned long long *found = malloc(sizeof *found);
    *found = pe_call(*(int *)number);
    return found;
}

static void pe_call_apart(int k)
{
    pthread_t threads[2];
    void *found[2];
    for (int t = 0; t < 2; t++)
        if (pthread_create(&threads[t], NULL, pe_thread_run, &k))
            _exit(96);
    for (int t = 0; t < 2; t++)
        pthread_join(threads[t], &found[t]);
    printf("%d: %016llx %016llx\\n", k, *(unsigned long long *)found[0], *(unsigned long long *)found[1]);
}

"""
_TWICE_REGION = """static void pe_call_apart(int k)
{
    unsigned long long found[2] = {0, 0};
#pragma omp parallel for num_threads(2)
    for (int t = 0; t < 2; t++)
        found[t] = pe_call(k);
    printf("%d: %016llx %016llx\\n", k, found[0], found[1]);
}

"""
_PROCESS = {"twice": _TWICE, "twice-region": _TWICE_REGION}
_CALLED_MAIN = """int main(void)
{
    for (int k = 0; k < CALLS; k++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            pe_call_apart(k);
            fflush(stdout);
            _exit(0);
        }
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) != child || status)
            printf("%d: ended %d\\n", k, status);
    }
    return 0;
}
"""
CALLS = 40
_INTEGER = re.compile(r"(?:const )?(?:unsigned |signed )?(?:int|long|long long|short|size_t|u?int(?:32|64)_t|unsigned)")
_FLOATING = re.compile(r"(?:const )?(?:double|float|real)")
_POINTER = re.compile(r"(?P<const>const )?(?P<type>\w+(?: \w+)*?) ?(?:\*(?P<restrict> ?restrict)?|(?P<dims>\[.*\]))")
_SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 9, 8, 7, 6, -1, -3)


def region_driver(program: str) -> str:
    """The program's main is called by one thread of three."""
    return renamed(program) + _REGION.replace("ARGUMENTS", "" if _NO_ARGUMENTS.search(program) else "argc, argv")


def threads_driver(program: str) -> str:
    """The program's main is called by two threads, one after the other, with small stacks."""
    return renamed(program) + _THREADS.replace("ARGUMENTS", "" if _NO_ARGUMENTS.search(program) else "pe_argc, pe_argv")


def renamed(program: str) -> str:
    """A program, which may be an #include, whose main has another name."""
    return f"#define main pe_program_main\n{program}\n#undef main\n"


def called_driver(program: str, functions: Sequence[Function], rng: random.Random, drive: Drive) -> str | None:
    """Calls with other sizes and pointers that overlap and are only aligned to their element; None without any.

    Static functions get pointers that overlap only where `program` is an #include: what is called how in a file
    may be relied on there.
    Each call runs in a process of its own and prints a line: its number, then a checksum of all memory it had; two
    of them where two threads call at once, each with memory of its own.
    """
    callable_ = [f for f in functions if _types(f)]
    if not callable_:
        return None
    included = program.startswith("#include")
    chosen = [callable_[k % len(callable_)] for k in range(CALLS)]
    calls = [_call(f, k, f.is_static and not included, rng) for k, f in enumerate(chosen)]
    pointers = 1 + max(len(_pointers(f)) for f in callable_)
    cases = "".join(f"    case {k}: {{\n{text}    }}\n" for k, text in enumerate(calls))
    body = (
        "static unsigned long long pe_call(int number)\n{\n    unsigned long long h = 14695981039346656037ULL;\n"
        f"    switch (number) {{\n{cases}    }}\n    return h;\n}}\n\n"
    )
    head = _CALLED.replace("POINTERS }", f"{pointers} }}")
    return (
        renamed(program) + head + "\n" + body + _PROCESS.get(drive, _ONCE) + _CALLED_MAIN.replace("CALLS", str(CALLS))
    )


def _pointers(function: Function) -> dict[str, re.Match[str]]:
    found = {}
    for text, name in function.parameters:
        match = _POINTER.fullmatch(text)
        if match and match["type"] not in ("void", "char") and not _INTEGER.fullmatch(text):
            found[name] = match
    return found


def _types(function: Function) -> tuple[str, ...]:
    """Of the elements of its pointers; () for a function that is not called."""
    pointers = _pointers(function)
    for text, name in function.parameters:
        if name not in pointers and not _INTEGER.fullmatch(text) and not _FLOATING.fullmatch(text):
            return ()
    return tuple(sorted({m["type"] for m in pointers.values()}))


def _call(function: Function, number: int, apart: bool, rng: random.Random) -> str:
    """The statements of a call; `apart`: no two pointers overlap."""
    pointers = _pointers(function)
    mode = "apart" if apart else ("apart", "apart", "same", "near", "far")[rng.randrange(5)]
    values: dict[str, int] = {}
    dimensions = max((m["dims"].count("[") for m in pointers.values() if m["dims"]), default=1)
    most = {4: 5, 5: 3}.get(min(dimensions, 5), 9)  # so that arrays, some with twice the extents, have room apart
    for text, name in function.parameters:
        if _INTEGER.fullmatch(text):
            unsigned = "unsigned" in text or "size_t" in text or "uint" in text
            values[name] = min(most, rng.choice(_SIZES[: -2 if unsigned else None]) if number else 5)
    below = max(1, min([v for v in values.values() if v > 0], default=1))
    lines = [f"const long below = {below};", f"pe_state = {rng.randrange(1, 1 << 31)}u;", "(void)below;"]
    types = _types(function)
    for k, ctype in enumerate(types):
        lines.append(f"{ctype} *const space{k} = malloc(sizeof({ctype}) * PE_ELEMENTS * PE_POINTERS);")
        lines.append(f"if (!space{k}) return 1;")
        lines.append(f"PE_FILL({ctype}, space{k});")
    arguments = []
    for text, name in function.parameters:
        if name in values:
            arguments.append(str(values[name]))
        elif name in pointers:
            match = pointers[name]
            alone = mode == "apart" or "restrict" in text
            shift = {"apart": rng.randrange(9), "same": 3, "near": rng.randrange(9), "far": rng.randrange(60)}[mode]
            base = f"PE_ELEMENTS * {sorted(pointers).index(name) + 1} + " if alone else ""
            arguments.append(f"(void *)(space{types.index(match['type'])} + {base}{shift})")
        else:
            arguments.append(f"{rng.choice(('1.5', '-0.75', '0', '2'))}")
    lines.append(f"{function.name}({', '.join(arguments)});")
    for k, ctype in enumerate(types):
        lines.append(f"PE_HASH({ctype}, space{k});")
        lines.append(f"free(space{k});")
    lines.append("break;")
    return "".join(f"        {line}\n" for line in lines)
