"""Which of the fastest run again."""

from perfembed.measuring.remeasure import left_to_run


def test_what_was_slower_in_every_turn_is_not_run_again() -> None:
    assert left_to_run([[1.0], [1.0]]) == left_to_run([[1.0, 2.0], [1.0, 3.0]]) == (0, 1)  # too few turns to tell
    assert left_to_run([[1.0, 1.0, 1.2], [1.0, 1.1, 1.3], [0.9, 1.3, 1.4]]) == (0, 1)
    assert left_to_run([[1.0, 1.0, 1.2], [1.0, 1.3, 1.3], [0.9, 1.3, 1.4]]) == ()  # one is left
