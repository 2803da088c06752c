"""How the texts of options become values."""

from pathlib import Path

import pytest

from perfembed.cli.texts import budget_seconds, compiler_flags, parameter_values, words
from perfembed.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"), [("60", 60), ("60s", 60), ("2m", 120), ("1.5h", 5400), ("0.5s", 0.5), (" 3 min ", 180)]
)
def test_budget(text: str, expected: float) -> None:
    assert budget_seconds(text) == expected


@pytest.mark.parametrize("text", ["", "0", "0s", "-1s", "nan", "inf", "1e9", "60x", "1d", "s", "٣s", "99999999h"])
def test_bad_budget(text: str) -> None:
    with pytest.raises(UsageError, match="--budget"):
        budget_seconds(text)


def test_parameters() -> None:
    assert parameter_values(["n=2000", "lo=-3"]) == (("n", 2000), ("lo", -3))
    assert parameter_values(None) == ()


@pytest.mark.parametrize("texts", [["n"], ["n="], ["=3"], ["n=1e6"], ["2n=3"], ["n=3", "n=4"], ["n=" + "9" * 40]])
def test_bad_parameters(texts: list[str]) -> None:
    with pytest.raises(UsageError, match="--param"):
        parameter_values(texts)


def test_flags() -> None:
    here = Path.cwd()
    flags = compiler_flags("-O2 '-DNAME=\"a b\"'", ["N=4", "M"], [".", "a b"], "c99")
    assert flags == ("-O2", '-DNAME="a b"', "-DN=4", "-DM", f"-I{here}", f"-I{here}/a b", "-std=c99")


def test_bad_quoting() -> None:
    with pytest.raises(UsageError, match="--args"):
        words("'a", "--args")


def test_files_of_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "flags").write_text("-fwrapv '-DNAME=a b'")
    monkeypatch.chdir(tmp_path)
    assert compiler_flags("-O2 @flags", None, None, None) == ("-O2", "-fwrapv", "-DNAME=a b")
