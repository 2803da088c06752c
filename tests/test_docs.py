"""What the README and the documentation say is so: examples, commands, options, links, generated pages, words."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

from docs import examples, generate
from optdb.database import Database
from perfembed import errors
from tests.campaigns import commands as campaigns
from tests.evaluation import commands as evaluation
from tests.optdb.support import filled

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = (README, *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md")), *sorted((ROOT / "docs").rglob("*.md")))
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
CHECKOUT = {"python -m tests.campaigns": campaigns.app, "python -m tests.evaluation": evaluation.app}
COMMANDS: dict[str, Any] = {" ".join(path): command for path, command in generate.commands()}
for path, app in CHECKOUT.items():
    group: Any = typer.main.get_command(app)
    COMMANDS |= {path: group, **{f"{path} {name}": command for name, command in group.commands.items()}}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(text: str, *languages: str) -> list[str]:
    """The code blocks in these languages."""
    return [code for language, code in re.findall(r"```(\w*)\n(.*?)```", text, re.DOTALL) if language in languages]


def section(page: str, heading: str) -> str:
    """What stands under a heading, up to the next one of its level."""
    return TEXTS[ROOT / page].partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


# ------------------------------------------------------------------------------------------------------ examples


def run_python(code: str, folder: Path) -> str:
    """Runs an example as it stands, beside a filled database and the sources."""
    if not (folder / "tests").exists():
        filled(folder / "perfembed.duckdb", nests=3, measurements=5).close()
        (folder / "tests").symlink_to(ROOT / "tests")
    example = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.gcc
def test_python_example_of_the_database(tmp_path: Path) -> None:
    (code,) = blocks(TEXTS[ROOT / "docs/guides/sql.md"], "python")
    lines = run_python(code, tmp_path).splitlines()
    assert len(lines) == 5 and lines[3:] == ["3 nests of other algorithms", "[('timed', 5)]"]
    speedups = [float(line.split()[1]) for line in lines[:3]]
    assert speedups == sorted(speedups, reverse=True) and all(line.endswith("; parallelize(i_t)") for line in lines[:3])


@pytest.mark.gcc
def test_python_example_of_a_schedule(tmp_path: Path) -> None:
    text = TEXTS[ROOT / "docs/guides/donors.md"]
    (code,), (shown,) = blocks(text, "python"), blocks(text, "text")
    assert run_python(code, tmp_path).strip() == shown.strip()


@pytest.mark.gcc
def test_python_examples_of_tuning_and_of_embeddings(tmp_path: Path) -> None:
    tuning, embedding = blocks(TEXTS[ROOT / "docs/guides/python.md"], "python")
    lines = run_python(tuning, tmp_path).splitlines()
    assert any(line.startswith("gemm_0 ") for line in lines) and (tmp_path / "gemm.opt.c").exists()
    assert re.fullmatch(r"\d\S* -> (\d\S* same output: True|None same output: None)", lines[-1])
    rows = [line.split() for line in run_python(embedding, tmp_path).splitlines()]
    assert [row[0] for row in rows] == ["gemm_0", "two_mm_0", "jacobi_2d_0"]
    assert all(len(row) == 4 and float(row[k + 1]) == 0 for k, row in enumerate(rows))


def test_all_python_examples_are_run() -> None:
    assert [name(page) for page in PAGES if blocks(TEXTS[page], "python")] == [
        "docs/guides/donors.md",
        "docs/guides/python.md",
        "docs/guides/sql.md",
    ]


def test_queries(tmp_path: Path) -> None:
    queries = [query for page in PAGES for query in blocks(TEXTS[page], "sql")]
    filled(tmp_path / "some.duckdb", nests=3, measurements=5).close()
    with Database.open(tmp_path / "some.duckdb", read_only=True) as database:
        for query in queries:
            database.rows(query)
    assert queries


INSPECTED = [
    one
    for page in PAGES
    for block in blocks(TEXTS[page], "console")
    for one in examples.shown(block)
    if one.command.startswith("perfembed inspect tests/kernels/")
]


@pytest.mark.gcc
@pytest.mark.parametrize("example", INSPECTED, ids=lambda one: one.command)
def test_what_inspect_prints(example: examples.Shown) -> None:
    code = f"import sys; sys.argv[1:] = {example.command.split()[1:]!r}; from perfembed.cli.main import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert examples.fitted(done.stdout.splitlines(), example.output) == list(example.output), done.stderr


def test_there_are_examples_of_inspect() -> None:
    assert len(INSPECTED) > 3


# ------------------------------------------------------------------------------------------ commands and options


def shown_commands(text: str) -> Iterator[list[str]]:
    """The words of each command of ours in a page: in blocks, and in the text."""
    for code in blocks(text, "sh", "console"):
        for line in code.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                yield from ours(line[2:])
            elif not code.startswith("$ "):
                yield from ours(line)
    for span in re.findall(
        r"`((?:perfembed|python -m tests\.\w+) [^`\n]*)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    ):
        yield from ours(span)


def ours(line: str) -> Iterator[list[str]]:
    for command in re.split(r" (?:&&|\|) ", line):
        words = shlex.split(command.replace("…", ""), comments=True)
        if words[:2] == ["python", "-m"] and words[2] in ("tests.campaigns", "tests.evaluation"):
            yield words
            continue
        place = next((k for k, word in enumerate(words) if Path(word).name == "perfembed"), None)
        if place is not None and not {"mypy", "mkdocs"} & set(words[:place]):
            yield ["perfembed", *words[place + 1 :]]


def problem(words: Sequence[str]) -> str:
    """What is wrong with a command line: an unknown command or option; empty where nothing is."""
    start = 1 if words[0] == "perfembed" else 3
    path, rest = " ".join(words[:start]), list(words[start:])
    while rest and f"{path} {rest[0]}" in COMMANDS:
        path = f"{path} {rest.pop(0)}"
    command = COMMANDS[path]
    if getattr(command, "commands", {}) and rest and re.fullmatch(r"[a-z]+", rest[0]):
        return f"no command {path} {rest[0]}"
    known: dict[str, Any] = {o: p for p in generate.options(command) for o in (*p.opts, *p.secondary_opts)}
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or word in ("-", "--help", "-h"):
            continue
        option, _, value = word.partition("=")
        if option not in known and not word.startswith("--") and word[:2] in known:
            option, value = word[:2], word[2:]
        if option not in known:
            if path == "python -m tests.evaluation kernels":  # has those of another command
                return problem(["perfembed", "compare", *words[4:]])
            return f"{path} has no option {option}"
        if not known[option].is_flag and not value and rest:
            rest.pop(0)
    return ""


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_and_options_exist(page: Path) -> None:
    wrong = [f"{shlex.join(words)}: {why}" for words in shown_commands(TEXTS[page]) if (why := problem(words))]
    assert not wrong


def test_wrong_commands_are_found() -> None:
    assert problem(["perfembed", "tuna", "a.c"]) and problem(["perfembed", "db", "inform"])
    assert problem(["perfembed", "tune", "a.c", "--fast"]) and problem(["perfembed", "tune", "-x", "a.c"])
    assert not problem(["perfembed", "tune", "a.c", "--cflags", "-O2 -g", "-DN=3", "-std=c99", "--budget=3s", "-q"])


def test_db_commands_are_documented() -> None:
    listed = set(re.findall(r"^\| `([a-z]+)", section("docs/guides/populate.md", "Look after it"), re.MULTILINE))
    assert listed == set(COMMANDS["perfembed db"].commands)


def test_campaigns_and_evaluations_are_documented() -> None:
    text = section("docs/results/index.md", "The commands")
    for path in CHECKOUT:
        listed = set(re.findall(rf"^\| `{path} ([a-z]+)", text, re.MULTILINE))
        assert listed == {words[-1] for name in COMMANDS if (words := name.split())[:-1] == path.split()}


def test_exit_codes_are_documented() -> None:
    table = set(map(int, re.findall(r"^\| (\d+) \|", TEXTS[ROOT / "docs/reference/exit-codes.md"], re.MULTILINE)))
    assert table == {value for name, value in vars(errors).items() if name.startswith("EXIT_")}


# --------------------------------------------------------------------------------------------------------- pages


@pytest.mark.parametrize("page", generate.PAGES)
def test_generated_pages_are_up_to_date(page: str) -> None:
    written = (generate.FOLDER / page).read_text(encoding="utf-8")
    assert written == generate.page_text(page), "run python -m docs.generate"


def test_readme_is_short() -> None:
    assert len(TEXTS[README].splitlines()) <= 250


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def anchors(page: Path) -> set[str]:
    """Those that GitHub and MkDocs both give a heading."""
    headings = re.findall(r"^#+ +(.*?) *$", re.sub(r"^```.*?^```", "", TEXTS[page], flags=re.DOTALL | re.M), re.M)
    plain = [re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in headings]
    slugs = [slug.replace(" ", "-") for slug in plain]
    return {slug for slug in slugs if slugs.count(slug) == 1 and slug == re.sub(r"-+", "-", slug)}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", without_code(TEXTS[page])):
        if re.match(r"https?:", target):
            continue
        file, _, anchor = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        assert path.exists(), f"{target}: no such file"
        if anchor:
            assert anchor in anchors(path), f"{target}: no such heading"
        if page.is_relative_to(ROOT / "docs"):
            assert path.is_relative_to(ROOT / "docs"), f"{target}: not part of the site"


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"[\w/-]+\.md\b", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md"))


def test_glossary_has_each_term_once() -> None:
    terms = re.findall(r"^- \*\*(.+?)\*\*:", TEXTS[ROOT / "docs/glossary.md"], re.MULTILINE)
    folded = [term.casefold() for term in terms]
    assert len(terms) > 50 and sorted(set(folded)) == sorted(folded)
    lines = [line for line in TEXTS[ROOT / "docs/glossary.md"].splitlines() if line.startswith("- ")]
    assert len(lines) == len(terms)
