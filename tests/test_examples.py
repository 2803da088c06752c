"""Examples of the documentation, run anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from docs.examples import anew, fitted, shown

PAGE = """Text.

```console
$ echo first > file; echo \\
  one
stale
$ cat file
stale
```

<!-- not run: needs a friend -->
```console
$ echo never
stale
```

<!-- run in sub -->
```console
$ ls; ls nothing-here
stale
```

<!-- run after: echo made > here -->
```console
$ cat here
stale
$ cat here > there
```

```console
a message alone
```
"""


def test_commands_and_what_is_shown() -> None:
    first, second = shown("before\n$ a \\\n  b\none\ntwo\n$ c\n")
    assert (first.command, first.output) == ("a \\\n  b", ("one", "two"))
    assert (second.command, second.output) == ("c", ())


@pytest.mark.parametrize(
    ("old", "kept"),
    [
        ([], []),
        (["all"], ["tuned  a", "       more", "kept   b", "kept   c", "wrote  d"]),
        (["tuned x", "…", "wrote y"], ["tuned  a", "…", "wrote  d"]),
        (["…", "kept x", "…"], ["…", "kept   b", "…"]),
    ],
)
def test_shortened_as_before(old: list[str], kept: list[str]) -> None:
    assert fitted(["tuned  a", "       more", "kept   b", "kept   c", "wrote  d"], old) == kept


@pytest.mark.gcc  # a shell
def test_a_page_is_run_anew(tmp_path: Path) -> None:
    (tmp_path / "sub" / "inner").mkdir(parents=True)
    blocks = [new for _, new in anew(PAGE, tmp_path, dict(os.environ))]
    assert blocks[0] == "$ echo first > file; echo \\\n  one\none\n$ cat file\nfirst\n"
    assert blocks[1].startswith("$ ls; ls nothing-here\ninner\n")
    assert "cannot access 'nothing-here'" in blocks[1]
    assert blocks[2:] == ["$ cat here\nmade\n$ cat here > there\n"]
