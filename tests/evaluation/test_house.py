"""What the house measures, on small trees of modules."""

from pathlib import Path

from tests.evaluation.house import Modules, floors, undocumented
from tests.evaluation.unchanged import differences


def _tree(root: Path, files: dict[str, str]) -> Modules:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Modules(root)


def test_imports_are_found_wherever_they_stand(tmp_path: Path) -> None:
    late = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import scheduler.b\ndef f():\n    from . import c\n"
    )
    modules = _tree(tmp_path, {"scheduler/a.py": late, "scheduler/b.py": "", "scheduler/c.py": ""})
    assert modules.edges(everywhere=False)["scheduler.a"] == set()
    assert modules.edges(everywhere=True)["scheduler.a"] == {"scheduler.b", "scheduler.c"}


def test_floors_are_the_longest_chain() -> None:
    assert floors({"a": {"b", "c"}, "b": {"c"}, "c": set(), "d": set()}) == 3


def test_functions_of_other_packages_are_described(tmp_path: Path) -> None:
    user = "from scheduler.a import bare, described, Kind\n"
    text = 'def bare(): ...\ndef described():\n    """What it is."""\nclass Kind: ...\ndef own(): ...\n'
    modules = _tree(tmp_path, {"scheduler/a.py": text, "perfembed/b.py": user})
    assert undocumented(modules) == ["scheduler.a.bare"]


def test_differences_name_what_came_and_went() -> None:
    assert differences({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"}) == ["b", "c", "d"]
