"""A minute is a minute, however often somebody looks."""

from __future__ import annotations

from console.pictures.samples import HERTZ, SPAN, SPANS, Samples, Series


def test_one_value_for_each_look_at_the_usual_pace() -> None:
    samples = Samples()
    for n in range(SPAN * HERTZ + 9):
        samples.add(5.0 + n / HERTZ + (0.05 if n % 2 else 0.0), n)
    assert samples.values == tuple(range(9, SPAN * HERTZ + 9))


def test_a_look_that_comes_late_stands_for_all_the_time_since_the_last() -> None:
    samples = Samples()
    for second in range(3):
        samples.add(float(second), second)
    assert samples.values == (0, 1, 1, 1, 1, 2, 2, 2, 2)


def test_looks_in_between_take_no_place() -> None:
    samples = Samples()
    for n in range(9):
        samples.add(7.0 + n / HERTZ / 8, n)
    assert samples.values == (4, 8)


def test_no_time_is_too_long_and_one_that_goes_back_begins_again() -> None:
    samples = Samples()
    samples.add(0.0, 3)
    samples.add(1e12, 4)
    assert samples.values == (4,) * SPAN * HERTZ
    samples.add(2.0, 5)
    assert samples.values == (5,)


def test_of_peaks_in_one_sample_the_highest_counts() -> None:
    samples = Samples(peaks=True)
    for at, value in ((7.0, 0), (7.25, 1900), (7.3, 4), (7.5, 2)):
        samples.add(at, value)
    assert samples.values == (0, 1900, 2)


def test_a_series_keeps_the_peak_over_every_span() -> None:
    series = Series()
    for second in range(0, 7200, 5):
        series.add(float(second), 900 if second == 4000 else second % 7)
    assert max(series.values(0)) < 900 and max(series.values(1)) < 900, "it is nearly an hour ago"
    assert max(series.values(2)) == 900 and max(series.values(3)) == 900
    assert [len(series.values(span)) for span in range(len(SPANS))] == [240, 240, 240, 21, 4]
