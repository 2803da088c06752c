"""Schedules as lists of sentences."""

from perfembed.report.words import schedule_list


def test_a_sentence_each_step() -> None:
    shown = schedule_list("interchange(i, gr_u00f6__u00df_e); unroll(k, 4)")
    assert shown.count("<li>") == 2 and "<code>unroll(k, 4)</code>" in shown
    assert "so that größe runs outside i" in shown and "interchange(i, größe)" in shown


def test_what_this_version_cannot_read_is_shown() -> None:
    assert schedule_list("fly(i); <b>") == "<p><code>fly(i); &lt;b&gt;</code></p>"
