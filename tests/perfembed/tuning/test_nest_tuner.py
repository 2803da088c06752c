"""What a tuner decides without measuring."""

from perfembed.tuning.confirming import plainly_faster


def test_what_is_plainly_faster_in_every_run_needs_no_turns() -> None:
    found = plainly_faster((1.0, 1.2), (0.4, 0.3), None)
    assert found is not None and found.faster and found.low == 1.0 / 0.4 and found.high == 1.2 / 0.3
    assert plainly_faster((1.0, 1.2), (0.3, 0.7), None) is None  # one run was not
    assert plainly_faster((1.0, 1.2), (0.4, 0.3), 2.0) == found  # in the program its data were cold
    assert plainly_faster((1.0, 1.2), (0.4, 0.3), 0.5) is None  # in the program it is as good as that
