"""The C file around random functions: their data, and a main that calls each with the arguments of a file."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Sequence

from tests.campaigns.bounds.arguments import Values
from tests.campaigns.bounds.numbers import ctype
from tests.campaigns.bounds.unit import VALUES, Unit

# Loops of ours jump, so that nobody tunes them.
_CALL = """static void note(const char *text, size_t size) { if (write(1, text, size) < 0) _exit(9); }
/* Of what pointers lead to every other byte crashes: sanitizers look at what is near an object alone. */
static void *alone(size_t size)
{
    char *all = mmap(0, 8 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED || mprotect(all + (4 << 20), size, PROT_READ | PROT_WRITE)) _exit(8);
    return all + (4 << 20);
}
static void place(void) { PU = alone(4096); PL = alone(4096); PV = alone(8192); }
static void mix(const void *data, size_t size)
{
    const char *at = data, *end = at + size;
    unsigned long long eight;
next:
    if (at == end) return;
    memcpy(&eight, at, 8);
    at += 8;
    hash = (hash ^ eight ^ hash >> 29) * 1099511628211ull;
    goto next;
}
static unsigned drawn(void)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 40);
}
static void fill(const long long *v)
{
    int k = 0;
    state = (unsigned long long)v[6];
    memset(U, 0, sizeof U); memset(L, 0, sizeof L); memset(S, 0, sizeof S); memset(D, 0, sizeof D);
    memset(C, 0, sizeof C); memset(H, 0, sizeof H); memset(F, 0, sizeof F); memset(M, 0, sizeof M);
    memset(PU, 0, 4096); memset(PL, 0, 4096); memset(PV, 0, 8192);
next:
    first[k] = (%(first)s)(v[6] %% 3 ? k - v[5] : (long long)(drawn() %% 24) - v[5]);
    row[k] = (%(row)s)(k * (v[6] %% 2 + 1) - v[5]);
    span[k].lo = (%(lo)s)(k - v[5]); span[k].hi = (%(hi)s)(span[k].lo + (long)(drawn() %% 6));
    low[k] = (%(low)s)((long long)(drawn() %% 12) - v[5]);
    U[k] = drawn(); S[k] = (unsigned short)drawn();
    H[k] = (short)(drawn() %% 9); C[k] = (unsigned char)drawn(); D[k] = drawn() %% 8;
    if (++k < 66) goto next;
}
static void call(int f, const long long *v, int number)
{
    char text[512];
    size_t end;
    int k = 0;
    hash = 14695981039346656037ull; kept = 0; memset(ran, 0, sizeof ran);
    fill(v);
    units[f](v);
    mix(U, sizeof U); mix(L, sizeof L); mix(S, sizeof S); mix(D, sizeof D); mix(C, sizeof C); mix(M, sizeof M);
    mix(PU, 4096); mix(PL, 4096); mix(PV, 8192); mix(H, sizeof H); mix(F, sizeof F);
    end = (size_t)snprintf(text, sizeof text, "= %%d %%016llx", number, hash);
last:
    if (k < kept && k < 12) { end += (size_t)snprintf(text + end, sizeof text - end, " %%llu", last[k++]); goto last; }
    k = 0;
path:
    if (ran[k] && end < 480) end += (size_t)snprintf(text + end, sizeof text - end, " @%%d:%%d", k, ran[k]);
    if (++k < PATHS) goto path;
    text[end++] = '\\n';
    note(text, end);
}
"""
# A child goes through the calls of a file; where it dies the next one goes on behind the call, and behind all calls of
# a function that was too slow three times.
_MAIN = """int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    place();
    static long long all[MOST][%(width)d];
    int k, status, total = 0, field = 0, slow = 0, limit = atoi(argv[1]);
    int *done = mmap(0, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *text;
    FILE *file = fopen(argv[2], "r");
    static char line[1024];
    if (!file) return 3;
more:
    if (total < MOST && fgets(line, sizeof line, file)) {
        text = line; field = 0;
value:
        all[total][field] = (long long)strtoull(text, &text, 10);
        if (++field < %(width)d) goto value;
        total++;
        goto more;
    }
    *done = 0;
again:
    if (fork() == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
child:
        if (*done == total) _exit(0);
        k = *done;
        setitimer(ITIMER_PROF, &(struct itimerval){ { 0, 0 }, { limit / 1000, limit %% 1000 * 1000 } }, 0);
        alarm(300);
        call((int)all[k][0], all[k] + 1, k);
        ++*done;
        goto child;
    }
    wait(&status);
    if (*done < total) {
        slow = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF ? slow + 1 : 0;
        k = (int)all[*done][0];
skip:
        note(line, (size_t)snprintf(line, sizeof line, "! %%d %%d\\n", *done, status));
        ++*done;
        if (slow > 2 && *done < total && all[*done][0] == k) goto skip;
        slow = slow > 2 ? 0 : slow;
        goto again;
    }
    return 0;
}
"""
PATHS = 160  # nests of a file whose way is counted
MOST = 600  # calls


_ALONE = "int main(void) {{ static const long long v[] = {{ {values} }}; place(); call({number}, v, 0); }}\n"


def program(units: Sequence[Unit], seed: str, alone: Values = ()) -> str:
    """The C file; the types of its index arrays are drawn. `alone`: what its one function is called with, instead of
    the lines of a file."""
    rng = random.Random(f"types {seed}")
    kinds = {name: ctype(rng) for name in ("first", "row", "low", "lo", "hi")}
    text = f"""#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
enum {{ ROOM = 320, SIDE = 40, PATHS = {PATHS}, MOST = {MOST} }};
static unsigned U[ROOM], M[SIDE][SIDE], F[6 * ROOM], *PU, *PV;
static long L[ROOM], *PL;
static unsigned short S[ROOM];
static short H[ROOM];
static unsigned char C[ROOM];
static double D[ROOM];
static {kinds["first"]} first[66];
static {kinds["row"]} row[66];
static {kinds["low"]} low[66];
static struct {{ {kinds["lo"]} lo; {kinds["hi"]} hi; }} span[66];
static unsigned long long hash, state, last[12];
static int kept, ran[PATHS];
static void keep(unsigned long long value) {{ if (kept < 12) last[kept++] = value; }}
"""
    text += "".join(unit.text() for unit in units)
    top = max((unit.number for unit in units), default=0) + 1
    have = {unit.number for unit in units}
    names = ", ".join(f"run{k}" if k in have else "0" for k in range(top))
    text += f"static void (*const units[])(const long long *) = {{ {names} }};\n"
    text += _CALL % kinds
    if alone:
        return text + _ALONE.format(values=", ".join(map(_number, alone)), number=units[0].number)
    return text + _MAIN % {"width": VALUES + 1}


_TABLE = re.compile(rb"(?<=units\[\]\)\(const long long \*\) = \{)[^}]*")


def only(content: bytes, numbers: Collection[int]) -> bytes:
    """A file of `program` in which compilers drop all functions but these, which are the ones it can call."""
    names = b", ".join(b"run%d" % k if k in numbers else b"0" for k in range(max(numbers, default=0) + 1))
    content, count = _TABLE.subn(b" " + names + b" ", content)
    assert count == 1
    return content


def _number(value: int) -> str:
    return str(value) if value > -(1 << 63) else f"{value + 1} - 1"
