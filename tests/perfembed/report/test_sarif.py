"""SARIF: regions in characters, files relative to the folder, nothing that the rules do not name."""

import json
from pathlib import Path
from typing import Any

from perfembed.report.findings import Finding
from perfembed.report.sarif import sarif

CONTENT = "int x;\r\nint ä; for (;;) break; // ü\nfor (;;)\n  ;\n".encode()
FOLDER = Path("/home/some one")


def run(*findings: Finding, path: str = "src/a.c") -> dict[str, Any]:
    log = json.loads(sarif(findings, path, CONTENT, FOLDER, "1.2.3"))
    assert log["version"] == "2.1.0" and len(log["runs"]) == 1
    return dict(log["runs"][0])


def refused(line: int, column: int, end: int | None, file: str = "src/a.c") -> Finding:
    return Finding("refused", "no", file, line, column, "f", end)


def region(finding: Finding) -> dict[str, int]:
    return dict(run(finding)["results"][0]["locations"][0]["physicalLocation"]["region"])


def test_tool_and_rules() -> None:
    found = run(refused(3, 1, None), Finding("missed-gain", "fast\x1b", "src/a.c", 3, 1, None, None, 4.5, "tile"))
    driver = found["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("perfembed", "1.2.3")
    for result in found["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert driver["rules"][result["ruleIndex"]]["defaultConfiguration"]["level"] == result["level"]
    missed = found["results"][1]
    assert missed["properties"] == {"speedup": 4.5, "schedule": "tile"} and "\x1b" not in missed["message"]["text"]
    assert "logicalLocations" not in missed["locations"][0]


def test_columns_are_characters() -> None:
    start = CONTENT.index(b"break")
    column = start - CONTENT.index(b"int \xc3") + 1
    assert region(refused(2, column, start + 5)) == {"startLine": 2, "startColumn": 17, "endColumn": 22}
    assert CONTENT.decode().split("\n")[1][16:21] == "break"


def test_a_nest_is_known_by_its_first_line() -> None:
    assert region(refused(3, 1, len(CONTENT))) == {"startLine": 3, "startColumn": 1, "endColumn": 9}
    assert region(refused(1, 1, None)) == {"startLine": 1, "startColumn": 1, "endColumn": 7}  # not the \r


def test_a_line_that_is_not_there() -> None:
    assert region(refused(99, 7, None)) == {"startLine": 99, "startColumn": 7}
    assert region(refused(0, 0, None)) == {"startLine": 1, "startColumn": 1}


def test_files() -> None:
    def uri(path: str) -> dict[str, str]:
        found = run(refused(1, 1, None, path), path=path)
        place = found["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
        assert found["artifacts"][0]["location"] == place
        return dict(place)

    assert run()["originalUriBaseIds"] == {"WORKINGFOLDER": {"uri": "file:///home/some%20one/"}}
    assert uri("src/ä b.c") == {"uri": "src/%C3%A4%20b.c", "uriBaseId": "WORKINGFOLDER"}
    assert uri("./src/../a:b.c") == {"uri": "a%3Ab.c", "uriBaseId": "WORKINGFOLDER"}
    assert uri("/home/some one/a.c") == {"uri": "a.c", "uriBaseId": "WORKINGFOLDER"}
    assert uri("../a.c") == {"uri": "file:///home/a.c"}
    assert uri("/home/some one else/a.c") == {"uri": "file:///home/some%20one%20else/a.c"}
    assert uri("a\udcff.c") == {"uri": "a%FF.c", "uriBaseId": "WORKINGFOLDER"}
