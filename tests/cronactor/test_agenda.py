"""The agenda gives what is due, in order, once, whatever was put and removed before."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from cronactor.agenda import Agenda

IDS = st.sampled_from("abcdef")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), IDS, st.one_of(st.none(), st.integers(0, 20))),
        st.tuples(st.just("remove"), IDS, st.none()),
        st.tuples(st.just("take"), IDS, st.integers(0, 20)),
    ),
    max_size=40,
)


@given(STEPS)
def test_it_agrees_with_a_plain_dictionary(steps: list[tuple[str, str, int | None]]) -> None:
    agenda: Agenda[str] = Agenda()
    model: dict[str, int | None] = {}
    for verb, id, number in steps:
        if verb == "put":
            agenda.put(id, number, id)
            model[id] = number
        elif verb == "remove":
            assert agenda.remove(id) == (id if id in model else None)
            model.pop(id, None)
        else:
            assert number is not None
            due = agenda.take_due(number, 100)
            expected = sorted(at for at in model.values() if at is not None and at <= number)
            assert [each.at for each in due] == expected
            for each in due:
                assert agenda.rearm(each, None)
                del model[each.id]
        assert len(agenda) == len(model)
        assert agenda.next_due() == min(
            (at for at in model.values() if at is not None), default=None
        )


def test_what_was_taken_stays_known_until_it_is_rearmed() -> None:
    agenda: Agenda[str] = Agenda()
    agenda.put("a", 1, "x")
    (due,) = agenda.take_due(5, 10)
    assert agenda.take_due(5, 10) == []
    assert (agenda.get("a"), "a" in agenda, agenda.next_due()) == ("x", True, None)
    assert agenda.rearm(due, 7)
    assert agenda.next_due() == 7


def test_a_rearm_after_a_removal_or_a_new_entry_does_nothing() -> None:
    agenda: Agenda[str] = Agenda()
    agenda.put("a", 1, "x")
    (due,) = agenda.take_due(5, 10)
    agenda.remove("a")
    assert not agenda.rearm(due, 7)
    agenda.put("a", 9, "y")
    assert not agenda.rearm(due, 7)
    assert agenda.next_due() == 9


def test_a_batch_is_bounded() -> None:
    agenda: Agenda[int] = Agenda()
    for number in range(10):
        agenda.put(str(number), number, number)
    assert [due.item for due in agenda.take_due(100, 3)] == [0, 1, 2]


def test_removed_entries_do_not_pile_up() -> None:
    agenda: Agenda[int] = Agenda()
    for number in range(10_000):
        agenda.put("same", number, number)
        agenda.put(str(number), number, number)
        agenda.remove(str(number))
    assert len(agenda._heap) < 3000


def test_a_new_entry_is_announced() -> None:
    announced: list[None] = []
    note: Callable[[], None] = lambda: announced.append(None)  # noqa: E731
    agenda: Agenda[str] = Agenda(note)
    agenda.put("a", 1, "x")
    agenda.put("b", None, "x")
    assert len(announced) == 1


def test_an_item_that_is_put_off_comes_later_under_the_instant_it_was_scheduled_at() -> None:
    agenda: Agenda[float] = Agenda(wake=lambda item, at: at + item)
    agenda.put("late", 1.0, 5.0)
    agenda.put("soon", 2.0, 0.0)
    assert agenda.next_due() == 2.0
    assert [due.id for due in agenda.take_due(5.9, 10)] == ["soon"]
    (late,) = agenda.take_due(6.0, 10)
    assert (late.at, dict(agenda.scheduled())) == (1.0, {"late": 1.0, "soon": 2.0})
