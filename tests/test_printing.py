"""Results as tables and as JSON, and what the views of evaluations that no other test shows make of theirs."""

import json
import math
from dataclasses import asdict, dataclass, field

from tests.evaluation import views
from tests.evaluation.costmodel import CostModelResult, PartScores, Throughput
from tests.evaluation.counters import COUNTS, CountedNest, CountersBench, CountersResult
from tests.evaluation.metrics import Scores
from tests.evaluation.nest_spellings import SpellingDonors
from tests.evaluation.protocols import ClassifierScores
from tests.evaluation.replay import FileTimes, NestTimes, ReplayTimes
from tests.evaluation.spread import SpellingTimes
from tests.evaluation.surrogate import ProtocolScores, SurrogateResult
from tests.evaluation.variants import VariantResult
from tests.printing import as_json, cells, fault, faults, plain


@dataclass(frozen=True)
class Row:
    name: str
    seconds: float | None = None
    gain: float = math.nan
    values: tuple[float, ...] = (0.5,)
    environment: dict[str, str] = field(default_factory=lambda: {"SECRET": "x"})


def test_json() -> None:
    assert json.loads(as_json(Row("a", 1.0), passed=True)) == {
        "name": "a", "seconds": 1.0, "gain": None, "values": [0.5], "passed": True,
    }  # fmt: skip
    assert plain({("a", "b"): {1}, 2: b"x"}) == {"a, b": [1], "2": "b'x'"}


def test_cells() -> None:
    columns = {"": "{name}", "a run": "{seconds!t}", "gain": "{gain:.0%}", "both": "{values[0]:.1f} of {gain!x}"}
    assert cells([Row("a", 0.0015, 1.0), Row("b")], columns) == [
        ["", "a run", "gain", "both"], ["a", "1.5 ms", "100%", "0.5 of 1.00x"], ["b", "-", "-", "0.5 of -"],
    ]  # fmt: skip


def test_faults() -> None:
    assert fault(Row("a\nb", values=()), "again this") == [
        "",
        "  again: again this",
        "  name: a",
        "    b",
        "  gain: None",
    ]
    shown = faults([(Row("a"), "this")] * 25, interrupted=True)
    assert shown[-2:] == ["… and 5 more; --json has them all", "interrupted; 25 faults"]
    assert faults([]) == ["0 faults"]


def test_replay() -> None:
    found = ReplayTimes((FileTimes("a.c", 20.0, [NestTimes("a", 3, 1.0, [0.5, 0.7])]),))
    assert "replay + legality, median: 0.60 ms, aim < 10 ms: met" in views.replay(found)


def test_counters() -> None:
    pairs = {count: (1e5, 1e5) for count in COUNTS}
    nest = CountedNest("a.c", "a_0", pairs, pairs, (10.0, 11.0))
    text = views.counters(CountersResult(CountersBench(("a.c",), {}), (nest, nest), (("b_0", "short"),), 2.0, False))
    assert text[2].split()[-4:] == ["loads", "nan", "0.00%", "met"]  # nothing varies
    assert "  a.c: a_0: 10, closed form 11" in text and "skipped b_0: short" in text


def test_costmodel() -> None:
    one = Scores(1, 2, 0.5, 0.4, math.nan, math.nan, 0.9, 0.8, 0.7, 0.6, 0.1, math.nan)
    result = CostModelResult((PartScores("lstm", "kernels", one),), (Throughput("lstm", 300.0, 100.0),), 3.0)
    text = views.costmodel(result)
    shown = "lstm kernels (1 nests, 2 labels) 50.0% 40.0% - - 0.900 0.800 0.700 0.600 10.0% -"
    assert " ".join(text[4].split()) == shown
    assert text[5] == "lstm: 300 predictions/s alone, 100/s with replay and legality"


def test_surrogate() -> None:
    one = ClassifierScores(4, 0.5, 0.75, 0.8, 0.7, 0.4, 0.1)
    result = SurrogateResult((ProtocolScores("cart", "10-fold", "kernels", one),), {"depth": 1.0}, 4, 0.5)
    text = views.surrogate(result)
    assert "10-fold" in text[2] and "75.0%" in text[2] and text[3] == "importance (GINI): depth 1.00"
    assert json.loads(as_json(result))["rows"][0]["scores"] == asdict(one)


def test_variants() -> None:
    spelled, timed = (SpellingDonors("a.c", "a_0", 5, 4, 0.9),), (SpellingTimes("a", "a_0", 2.0, (1.0, 1.05), 1.02),)
    text = views.variants((VariantResult("a.c", 2, 2),), spelled, timed)
    assert text[0] == "1 of 1 variants found with all their nests; 2 of 2 nests"
    assert text[1].startswith("1 nests in 5 other spellings: the same first donor in 80%, 90% of the five")
    assert text[-1] == "spellings of 1 of 1 nests within 10 %; of 1 one spelling tuned twice"
