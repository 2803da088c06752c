"""Whether a nest is found again when its file was renamed, reordered and rewritten.

Every program gets variants that compute the same: other names, declarations in another order, `x += e` spelled out,
other bounds and steps of loops. A nest is found if its nearest neighbour without profile, among the nests of all
programs and the shipped donors, is the one it was made of.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perfembed.errors import PerfembedError
from perfembed.files import read_input
from perfembed.mapping.embed_file import place_source
from perfembed.retrieval.index import VectorIndex
from perfembed.retrieval.retrieve import open_sources
from perfembed.tuning.options import TuneOptions

_NAMES_KEPT = """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    _Bool bool true false main argc argv printf fprintf puts putchar stdout stderr malloc calloc free exit abort
    memset memcpy sqrt sqrtf fabs fabsf exp expf log logf pow powf sin cos fmax fmin fmaxf fminf abs NULL size_t
    FILE SMALL XLARGE include define undef ifdef ifndef if endif elif defined error pragma omp int8_t uint8_t int16_t
    uint16_t int32_t uint32_t int64_t uint64_t stdio stdlib string math stdint stdbool stddef limits time h ULL
    UL LL L U u l e E f F x EXIT_FAILURE EXIT_SUCCESS
"""
_KEPT = frozenset(re.findall(r"\w+", _NAMES_KEPT))
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[A-Za-z_]\w*|0[xX][0-9A-Fa-f]+\w*|[0-9][\w.]*')
_UPDATE = re.compile(r"^( *)([A-Za-z_]\w*(?:\[[^\[\]\n]*\])*) \+= ([^;\n]+);$", re.MULTILINE)
_BOUND = re.compile(r"(for \([^;()]*; *\w+) < (\w+);")
_STEP = re.compile(r"(for \([^;()]*;[^;()]*;) *(\w+)\+\+\)")
_ARRAYS = re.compile(r"(?:^static [a-z]+ \w+(?:\[\w+\])+;\n){2,}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class VariantResult:
    """Of one variant: how many of its nests there are, and which were found; `problem` where it cannot be read."""

    program: str
    nests: int
    found: int
    problem: str = ""

    @property
    def whole(self) -> bool:
        return not self.problem and self.nests > 0 and self.found == self.nests


def rewritten(text: str, rng: random.Random) -> str:
    """The same program, spelled differently."""
    text = _ARRAYS.sub(lambda m: "".join(rng.sample(lines := m[0].splitlines(keepends=True), len(lines))), text)
    text = _UPDATE.sub(lambda m: f"{m[1]}{m[2]} = {m[2]} + ({m[3]});" if rng.random() < 0.7 else m[0], text)
    text = _BOUND.sub(lambda m: f"{m[1]} <= ({m[2]}) - 1;" if rng.random() < 0.5 else m[0], text)
    text = _STEP.sub(lambda m: rng.choice(("{0} ++{1})", "{0} {1} += 1)", "{0} {1}++)")).format(m[1], m[2]), text)
    names: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        word = match[0]
        if not (word[0].isalpha() or word[0] == "_") or word in _KEPT:
            return word
        if word not in names:
            names[word] = f"{rng.choice('abcdefgqrstuvwyz')}{len(names)}_{rng.randrange(1000)}"
        return names[word]

    lines = text.splitlines(keepends=True)
    return "".join(x if x.lstrip().startswith("#include") else _WORD.sub(renamed, x) for x in lines)


def run_variants(
    paths: Sequence[str], count: int, options: TuneOptions, seed: int, progress: Callable[[str], None]
) -> tuple[VariantResult, ...]:
    """`count` variants, of the programs in turn. Raises PerfembedError where a program itself cannot be read."""
    space, sources = open_sources(None)
    originals = {path: place_source(path, read_input(path), options, space) for path in paths}
    rows = {f"{path}:{nest.name}": nest for path, nests in originals.items() for nest in nests}
    known = {key: nest.vector for key, nest in rows.items() if nest.vector is not None}
    donors = {key: vector for s in sources for key in s.by_id if (vector := s.index.vector(key)) is not None}
    vectors = np.stack([*known.values(), *donors.values()])
    index = VectorIndex.build((*known, *donors), vectors, space.space_id)
    same: dict[str, set[str]] = {}
    for key, nest in rows.items():
        same.setdefault(nest.nest_id, set()).add(key)
    results = []
    for number in range(count):
        path = paths[number % len(paths)]
        rng = random.Random(f"{seed} {path} {number}")
        text = rewritten(read_input(path).decode(errors="surrogateescape"), rng)
        try:
            nests = place_source(path, text.encode(errors="surrogateescape"), replace(options, functions=()), space)
        except PerfembedError as problem:
            results.append(VariantResult(path, 0, 0, str(problem).partition("\n")[0]))
            continue
        hits = 0
        for nest, original in zip(nests, originals[path], strict=False):
            if nest.vector is not None:
                hits += index.search(nest.vector, 1)[0].id in same[original.nest_id]
        result = VariantResult(path, len(originals[path]), hits if len(nests) == len(originals[path]) else 0)
        progress(f"{number + 1}/{count} {path}: {result.found} of {result.nests} nests found")
        results.append(result)
    return tuple(results)
