"""Whole programs: reproducible, within their bounds, varied, and free of undefined behaviour."""

from __future__ import annotations

import math
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from scheduler.generator.programs import PATTERNS, GeneratorSettings, NothingFits, generate
from scheduler.generator.programs.generate import draft
from scheduler.generator.programs.kernel import Block, Kernel
from tests.scheduler.generator.programs.support import compiled, sanitized


def test_the_same_always() -> None:
    first = [generate(5, number) for number in range(10)]
    assert [generate(5, number) for number in reversed(range(10))][::-1] == first
    assert [p.name for p in first] == [f"gen_5_{number}" for number in range(10)]
    assert len({p.source for p in first}) == 10
    assert generate(6, 0).source != first[0].source


@pytest.mark.gcc
def test_sparse_data_differ_between_programs_whose_loops_are_alike(tmp_path: Path) -> None:
    weights = tuple((p.name, float(p.name == "sparse")) for p in PATTERNS)
    settings = GeneratorSettings(1e4, 1e6, nests=1, weights=weights)
    texts = [text for number in range(40) if "rowptr[" in (text := generate(3, number, settings).source)]
    shares = []  # of the entries, in the first half of the rows
    for text in texts:
        rows = re.search(r"i <= (\w+); i\+\+\)[^}]*?\browptr\[i\] =", text)
        assert rows is not None
        asked = f'    init();\n    printf("%g", (double)rowptr[{rows[1]} / 2] / rowptr[{rows[1]}]);\n    return 0;\n'
        shares.append(float(subprocess.check_output([compiled(text.replace("    init();\n", asked), tmp_path)])))
    assert min(shares) == pytest.approx(0.5, abs=0.06) and max(shares) == pytest.approx(1 - 0.5**4, abs=0.02)
    filled = [line for text in texts for line in text.splitlines() if line.strip().startswith("col[i] =")]
    assert {"(double)i" in line for line in filled} == {True, False}


def test_bounds_are_kept() -> None:
    settings = GeneratorSettings(1e4, 1e6, 4 << 20, 4, 256, depth=4, nests=2)
    for number in range(60):
        program, kernel = generate(7, number, settings), draft(7, number, settings).kernel
        assert 1e4 <= program.work <= 1e6 and program.bytes <= 4 << 20
        assert 1 <= program.depth <= 4 and 1 <= len(program.patterns) <= 2
        assert max(kernel.sizes[0].values()) < 20


def test_bad_settings() -> None:
    for bad in ({"depth": 0}, {"depth": 8}, {"nests": 0}, {"least_work": 10}, {"most_work": 1e5}, {"most_bytes": 1}):
        with pytest.raises(ValueError):
            GeneratorSettings(**bad)
    with pytest.raises(ValueError):
        GeneratorSettings(least_extent=100, most_extent=200)
    with pytest.raises(ValueError, match="no pattern is called 'gemm'"):
        generate(0, 0, GeneratorSettings(weights=(("gemm", 1.0),)))
    with pytest.raises(ValueError, match="weight 0"):
        generate(0, 0, GeneratorSettings(weights=tuple((p.name, 0.0) for p in PATTERNS)))
    with pytest.raises(ValueError, match="negative"):
        GeneratorSettings(weights=(("tree", -1.0),))
    with pytest.raises(NothingFits, match=r"no program of .* within the settings"):
        heavy = tuple((p.name, float(p.name == "expression")) for p in PATTERNS)
        generate(0, 0, GeneratorSettings(1e11, 1e12, 1 << 20, nests=1, weights=heavy))


def feeds(kernel: Kernel) -> bool:
    """Whether a nest takes up what an earlier one wrote."""
    written: set[str] = set()
    for node in kernel.root.body:
        text = "\n".join(lines(node))
        stored = set(re.findall(r"^(\w+)\[[^=\n]*[-+*/]?= ", text, re.MULTILINE))
        if any(re.search(rf"= .*\b{name}\[", text) for name in written):
            return True
        written |= stored
    return False


def lines(node: Block | str) -> list[str]:
    return [node] if isinstance(node, str) else [node.head, *(line for child in node.body for line in lines(child))]


def test_variety() -> None:
    """What a model is to see is drawn, and not too rarely."""
    seen: Counter[str] = Counter()
    work = []
    for number in range(240):
        found = draft(8, number, GeneratorSettings())
        kernel, body = found.kernel, "\n".join(lines(found.kernel.root))
        seen.update([f"depth {kernel.depth}", kernel.ctype, kernel.style.value, f"{len(found.patterns)} patterns"])
        seen.update(found.patterns)
        small = [value for value in kernel.sizes[1].values() if value <= 8]
        seen["small extent"] += bool(small)
        seen["thousands"] += max(kernel.sizes[1].values()) >= 1000
        for word in ("if (", "else", " ? ", "rowptr", "--)", "exp", " t < ", "acc", "long i"):
            seen[word] += word in body
        seen["imperfect"] += bool(re.search(r";\nfor ", body))
        seen["fed"] += len(found.patterns) > 1 and feeds(kernel)
        work.append(math.log10(kernel.work))
    expected = {
        **{f"depth {d}": 2 for d in range(1, 8)},
        **{"double": 80, "float": 50, "int": 20, "global": 80, "vla": 25, "flat": 20, "restrict": 25},
        **{"1 patterns": 90, "2 patterns": 35, "3 patterns": 12, "4 patterns": 3},
        **{p.name: int(1.5 * p.weight) for p in PATTERNS},
        **{"small extent": 40, "thousands": 60, "imperfect": 30, "fed": 20, "if (": 10, "else": 2, " ? ": 10},
        **{"rowptr": 3, "--)": 5, "exp": 5, " t < ": 12, "acc": 15, "long i": 12},
    }
    assert {word: seen[word] for word, least in expected.items() if seen[word] < least} == {}
    assert min(work) < 5.5 and max(work) > 7.5 and 6 < sorted(work)[120] < 7


@pytest.mark.gcc
@pytest.mark.parametrize("number", range(4))
def test_nothing_undefined(number: int, tmp_path: Path) -> None:
    checksum, total = sanitized(generate(9, number), tmp_path)
    assert len(checksum) == 16 and math.isfinite(total)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(500))
def test_nothing_undefined_in_many(number: int, tmp_path: Path) -> None:
    assert math.isfinite(sanitized(generate(10, number), tmp_path)[1])


@pytest.mark.slow
@pytest.mark.parametrize("number", range(40))
def test_nothing_undefined_at_the_normal_size(number: int, tmp_path: Path) -> None:
    flags = ("-O2", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    binary = compiled(generate(15, number).source, tmp_path, *flags)
    done = subprocess.run([str(binary)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert math.isfinite(float(done.stdout.split()[1]))
