"""What an occurrence's own message carries leads back to its job, and nothing else does."""

from __future__ import annotations

import attrs
from hypothesis import given
from hypothesis import strategies as st

from cronactor.jobs import occurrence_job, occurrence_stamp

instants = st.floats(0, 4e9, allow_nan=False).map(lambda instant: float(round(instant)))


@given(st.text(min_size=1), st.text(min_size=1), instants)
def test_an_occurrences_message_names_its_job(agent: str, job: str, at: float) -> None:
    stamp = occurrence_stamp(agent, job, at)
    assert occurrence_job(stamp) == job
    assert occurrence_job(attrs.evolve(stamp, hop=1)) is None  # an answer further down its chain


def test_a_message_of_another_origin_names_none() -> None:
    stamp = occurrence_stamp("asistente", "asistente/lunes", 0.0)
    assert occurrence_job(attrs.evolve(stamp, chain="$e1", origin="$e1")) is None
    assert occurrence_job(None) is None
