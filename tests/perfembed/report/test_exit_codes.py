"""Every exit code has a meaning, in a table for people."""

from perfembed import errors
from perfembed.report.exit_codes import render_exit_codes


def test_all_are_there_in_order() -> None:
    codes = [value for name, value in vars(errors).items() if name.startswith("EXIT_") and isinstance(value, int)]
    assert list(errors.EXITS) == sorted(codes)
    for kind in errors.PerfembedError.__subclasses__():
        assert kind.exit_code in errors.EXITS


def test_table() -> None:
    lines = render_exit_codes().splitlines()
    assert [int(line.split()[0]) for line in lines] == list(errors.EXITS)
    assert lines[3] == "3    no tunable loop nest" and "`" not in "".join(lines)
