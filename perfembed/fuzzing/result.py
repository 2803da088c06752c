"""What came of running nests on other values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OtherValues:
    """How a written nest did on values that the captured run does not have.

    `same`: draws of sizes, values and contents on which it left what the original loops left, with no word from the
    sanitizers; `tuned` of them ran the new loops, the others the original ones behind a run-time test. `undefined`:
    draws that do not count, because the original is undefined there, or runs too long. `arguments`: so many other
    arguments of the program with which it says the same. `wrong`: the values with which it did something else, and
    what. `skipped`: why nothing was run.
    """

    same: int = 0
    tuned: int = 0
    undefined: int = 0
    arguments: int = 0
    wrong: str = ""
    skipped: str = ""

    def lines(self, how: str) -> tuple[str, ...]:
        """What was checked, for the user; `how` both did the same: "bit-identical"."""
        if self.wrong:
            return ()
        said = []
        if self.same:
            new = f"{self.tuned} by the new loops" if self.tuned else "none of them by the new loops"
            said.append(f"{how} on {self.same} other sizes and values ({new}), sanitizers silent")
        elif self.skipped:
            said.append(f"not run on other sizes and values: {self.skipped}")
        if self.arguments:
            said.append(f"the program says the same with {self.arguments} other arguments")
        return tuple(said)
