"""`perfembed inspect`: the forms of its output."""

import json
import os
from pathlib import Path

import pytest

from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, EXIT_ENVIRONMENT, EXIT_NO_NEST, EXIT_NOT_READ, EXIT_USAGE
from perfembed.inspection.inspect_file import inspect_source
from tests.little_time import no_time_to_read

SOURCE = """\
double a[100];
void f(int n)
{
    for (int i = 0; i < n; i++)
        a[i] = 2.0;
    for (int i = 0; i < n; i++)
        if (a[i] > 1.0)
            break;
}
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("a.c").write_text(SOURCE)
    return "a.c"


@pytest.mark.gcc
@pytest.mark.usefixtures("own_parser")
def test_what_there_is_no_time_for(
    source: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect_source, "__defaults__", ((), 0.0, True))
    for form in ("text", "json", "remarks"):
        assert main(["inspect", source, "--format", form], Session({})) == EXIT_NOT_READ
        assert "a.c: time did not suffice to analyse 1 of 1 nests" in capsys.readouterr().err
    no_time_to_read(monkeypatch, source)
    assert main(["inspect", source], Session({})) == EXIT_NOT_READ
    assert "a.c: not read: the C parser needed more than 0.01 s of processor time" in capsys.readouterr().err


@pytest.mark.gcc
def test_without_a_compiler(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", source, "--cc", "no-such"], Session({})) == EXIT_DONE
    Path("a.c").write_text(f"#include <stddef.h>\n{SOURCE}")
    assert main(["inspect", source, "--cc", "no-such"], Session({})) == EXIT_ENVIRONMENT
    assert "there is no compiler no-such" in capsys.readouterr().err


@pytest.mark.gcc
def test_sarif(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", source, "--format", "sarif"], Session({})) == 0
    log = json.loads(capsys.readouterr().out)
    (result,) = log["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a.c"
    assert place["region"]["startLine"] == 8 and place["region"]["startColumn"] == 13
    assert result["ruleId"] == "refused" and "break" in result["message"]["text"]


@pytest.mark.gcc
def test_remarks(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", source, "--format", "remarks"], Session({})) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("a.c:8:13: remark: loop not tuned: the loop contains break (")
    assert line.endswith("[-Rpass-missed=perfembed]")


@pytest.mark.gcc
def test_loops_around_others_are_nothing_that_is_missed(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = "static void g(double *a, int n) { for (int i = 0; i < n; i++) a[i] *= 2; }\n"
    Path(source).write_text(
        text + "void f(double *a, int n)\n{\n    for (int t = 0; t < n; t++)\n        g(a, n);\n}\n"
    )
    assert main(["inspect", source], Session({})) == EXIT_DONE
    shown = capsys.readouterr().out
    assert "a.c: 1 nest, 0 refused" in shown and "\n1 loop around these stays as it is (-v says which)" in shown
    assert main(["inspect", source, "-v"], Session({})) == EXIT_DONE
    assert "a.c:4:5: note: stays around loops that are read: calls 'g' with the same" in capsys.readouterr().out
    for form in ("remarks", "sarif"):
        assert main(["inspect", source, "--format", form], Session({})) == EXIT_DONE
        assert "same arguments" not in capsys.readouterr().out
    assert main(["inspect", source, "--summary"], Session({})) == EXIT_DONE
    assert "same arguments" not in capsys.readouterr().out
    assert main(["inspect", source, "--json"], Session({})) == EXIT_DONE
    document = json.loads(capsys.readouterr().out)
    (around,) = document["around"]
    assert around["function"] == "f" and around["span"]["line"] == 4 and not document["refused"]


@pytest.mark.gcc
def test_json_is_a_format(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", source, "--format", "json"], Session({})) == 0
    named = capsys.readouterr().out
    assert main(["inspect", source, "--json"], Session({})) == 0
    assert capsys.readouterr().out == named and json.loads(named)["kind"] == "inspect"
    assert main(["inspect", "none.c", "--format", "json"], Session({})) == 2
    assert json.loads(capsys.readouterr().out)["kind"] == "error"


def test_forms_that_there_are_not(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", source, "--format", "xml"], Session({})) == 2
    assert "'xml' is not one of 'text', 'json', 'sarif', 'remarks'" in capsys.readouterr().err
    assert main(["inspect", source, "--format", "sarif", "--json"], Session({})) == 2
    assert "exclude each other" in capsys.readouterr().err


@pytest.mark.gcc
def test_a_file_without_findings(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(source).write_text(SOURCE.replace("break", "a[i] = 1.0"))
    assert main(["inspect", source, "--format", "sarif"], Session({})) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["results"] == []
    assert main(["inspect", source, "--format", "remarks"], Session({})) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.gcc
def test_summary(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    more = "int g(int);\nint h(int);\nvoid e(int n) { for (int i = 0; i < n; i++) a[i] = g(i);\n"
    more += "for (int i = 0; i < n; i++) a[i] = h(i); }\n"
    Path(source).write_text(SOURCE + more)
    assert main(["inspect", source, "--summary"], Session({})) == 0
    head, _, titles, first, second = capsys.readouterr().out.splitlines()
    assert head == "a.c: 1 nest, 3 refused" and titles.split()[0] == "loops"
    assert first.split()[:3] == ["2", "calls", "'…',"] and "12, 13" in first
    assert second.split()[:4] == ["1", "the", "loop", "contains"]


PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
static double a[4000];
static double slow(double x)
{
    for (int k = 0; k < 40; k++) {
        if (x > 1e9) break;
        x = x * 0.5 + 1.0;
        if (x < 0) abort();
    }
    return x;
}
int main(int argc, char **argv)
{
    int rounds = atoi(argv[1]);
    for (int i = 0; i < 4000; i++)
        a[i] = i;
    for (int r = 0; r < rounds; r++) {
        FILE *f = r ? NULL : fopen("left.txt", "w");
        for (int i = 0; i < 4000; i++)
            a[i] = slow(a[i]);
        if (f) fclose(f);
    }
    printf("%g\\n", a[7]);
    return argc != 2;
}
"""


@pytest.mark.gcc
def test_summary_of_a_run(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(source).write_text(PROGRAM)
    session = Session({"PATH": os.environ["PATH"]})
    assert main(["inspect", source, "--summary", "--run", "./a 150"], session) == 0
    out = capsys.readouterr().out
    assert "(read as nests)" in out and "samples of the main thread" in out
    freed = out[out.index("most would be freed by:") :].splitlines()
    assert "a.c:" in freed[1] and not Path("left.txt").exists()
    assert main(["inspect", source, "--json", "--run", "./a 150"], session) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert run["samples"] > 20
    refused = sum(loop["share"] for loop in run["loops"] if loop["reason"])
    assert refused > 0.7
    assert abs(sum(loop["share"] for loop in run["loops"]) + run["elsewhere"] - 1) < 1e-9


@pytest.mark.gcc
def test_all_files_of_a_program(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One table for the program: what one file's loop calls in another one is the other's."""
    Path(source).write_text(
        "double one(double);\nint all(int n) {\n    double s = 0;\n"
        "    for (int r = 0; r < n; r++) s += one(r);\n    return s > 1e9;\n}\n"
    )
    Path("b.c").write_text(
        "#include <stdlib.h>\nint all(int);\ndouble one(double x)\n{\n    for (int k = 0; k < 900; k++) {\n"
        "        x = x * 0.5 + 1.0;\n        if (x < 0) abort();\n    }\n    return x;\n}\n"
        "int main(int n, char **v) { return all(atoi(v[n - 1])); }\n"
    )
    Path("Makefile").write_text("prog: a.c b.c\n\t$(CC) -O2 -o $@ a.c b.c\n")
    arguments = ["inspect", source, "b.c", "--summary", "--build", "make prog", "--run", "./prog 200000"]
    session = Session({"PATH": os.environ["PATH"]})
    code = main(arguments, session)
    out = capsys.readouterr().out
    assert code in (EXIT_DONE, EXIT_NO_NEST)
    assert out.splitlines()[0].startswith("a.c: ") and out.splitlines()[1].startswith("b.c: ")
    freed = out[out.index("most would be freed by:") :].splitlines()
    assert " b.c:" in freed[1] and float(freed[1].split()[0]) > 70
    for more in ([], ["--json"], ["--summary", "--json"]):
        assert main(["inspect", source, "b.c", *more], session) == EXIT_USAGE
    capsys.readouterr()
    main(["inspect", source, "b.c", "--summary"], session)
    assert {line.partition(":")[0] for line in capsys.readouterr().out.splitlines() if ".c: " in line} >= {"a.c", "b.c"}


@pytest.mark.gcc
def test_run_by_a_build(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(source).write_text(PROGRAM.replace("int main(", "int all("))
    Path("main.c").write_text("int all(int, char **);\nint main(int n, char **v) { return all(n, v); }\n")
    Path("Makefile").write_text("prog: a.c main.c\n\t$(CC) -O2 -o $@ a.c main.c\n")
    arguments = ["inspect", source, "--json", "--build", "make prog", "--run", "./prog 150"]
    assert main(arguments, Session({"PATH": os.environ["PATH"]})) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert sum(loop["share"] for loop in run["loops"] if loop["reason"]) > 0.7
    assert not Path("prog").exists()


@pytest.mark.gcc
def test_runs_that_are_refused(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", source, "--run", "./a"], Session({})) == 2
    assert "--summary or --json" in capsys.readouterr().err
    assert main(["inspect", source, "--summary", "--args", "3"], Session({})) == 2
    assert "add --run" in capsys.readouterr().err
    assert main(["inspect", source, "--summary", "--run", "./a"], Session({"PATH": os.environ["PATH"]})) == 4
    assert "no main" in capsys.readouterr().err
    Path(source).write_text(PROGRAM.replace("int rounds", "abort(); int rounds"))
    assert main(["inspect", source, "--summary", "--run", "./a 3"], Session({"PATH": os.environ["PATH"]})) == 4
    assert "crashed" in capsys.readouterr().err


def test_what_a_pass_leaves(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", source, "--print-after=normalize_loops", "--function", "f"], Session({})) == EXIT_DONE
    assert "void f(int n) {\n    for (int i = 0; i < n; i++) {\n        a[i] = 2.0;" in capsys.readouterr().out
    assert main(["inspect", source, "--print-after=detect_scops"], Session({})) == EXIT_DONE
    assert "nest f_0 of f {" in capsys.readouterr().out
    assert main(["inspect", source, "--print-after=list"], Session({})) == EXIT_DONE
    assert "hoist_side_effects\nmemory_calls\n" in capsys.readouterr().out
    assert main(["inspect", source, "--print-after=unroll"], Session({})) == EXIT_USAGE
    assert "one of: sroa, hoist_side_effects" in capsys.readouterr().err
