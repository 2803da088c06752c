"""Numbers of lines: plain ones, those that `#line` gives, and those that nobody can know."""

import subprocess
from pathlib import Path

import pytest

from scheduler.frontend.clang.lexical import Text
from scheduler.frontend.clang.numbering import Numbering, line_directive


def numbered(text: bytes) -> dict[str, int | None]:
    """The number of the line of each word that begins with `at`."""
    numbering = Numbering(text, Text(text).directives())
    places = [k for k in range(len(text)) if text.startswith(b"at_", k)]
    return {text[k : k + 4].decode(): numbering.at(k) for k in places}


@pytest.mark.parametrize(("text", "expected"), [
    (b"\nat_a\n\nat_b at_c", {"at_a": 2, "at_b": 4, "at_c": 4}),
    (b"at_a\n#line 70 \"x.y\"\nat_b\nat_c\n#line 5\nat_d", {"at_a": 1, "at_b": 70, "at_c": 71, "at_d": 5}),
    (b"# 40 \"x.c\" 2\nat_a\n # /* */ line\\\n 9\nat_b", {"at_a": 40, "at_b": 9}),
    (b"/*\n#line 7\n*/\n// \\\n#line 7\nat_a", {"at_a": 6}),
    (b"#line N\nat_a\n#line 3\nat_b", {"at_a": None, "at_b": 3}),
    (b"#if A\n#line 50\nat_a\n#endif\nat_b\n#line 9\nat_c", {"at_a": 50, "at_b": None, "at_c": 9}),
    (b"#if A\n#line 23\n#elif B\nat_a\n#line 26\n#else\nat_b\n#line 29\n#endif\nat_c",
     {"at_a": 4, "at_b": 7, "at_c": 30}),
    (b"#if A\n#line 4\n#else\n#endif\nat_a", {"at_a": None}),
    (b"#if A\n#else\n#line 50\n#endif\nat_a", {"at_a": None}),
    (b"#if A\n#if B\n#line 40\n#endif\n#endif\nat_a", {"at_a": None}),
    (b"#if A\n#line 30\n#elif B\n#line 50\n#endif\nat_a", {"at_a": None}),
])  # fmt: skip
def test_numbers(text: bytes, expected: dict[str, int | None]) -> None:
    assert numbered(text) == expected


@pytest.mark.gcc
@pytest.mark.parametrize("number", [1, 32767, 32768, 2000000])
@pytest.mark.parametrize("standard", ["c90", "c99", "gnu17"])
def test_directive(number: int, standard: str, tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text(f"int a;\n{line_directive(number)}\nint b = __LINE__;\n")
    command = ["gcc", f"-std={standard}", "-pedantic-errors", "-Wall", "-Wundef", "-Werror"]
    subprocess.run([*command, "-c", str(source), "-o", str(tmp_path / "a.o")], check=True)
    text = subprocess.run([*command, "-E", "-P", str(source)], check=True, capture_output=True, text=True).stdout
    if number < 32768 or standard != "c90":
        assert text.split() == ["int", "a;", "int", "b", "=", f"{number};"]
