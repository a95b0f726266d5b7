"""The replay model plays what its script says, and says where a script is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from actors.llm.guard import Deadlines, guarded
from actors.llm.protocol import ModelError, ModelOutput, ToolCall, complete
from actors.llm.replay import ReplayCrash, ReplayProvider
from actors.llm.script import ScriptError, parse_script
from tests.actors.llm.requests import called, request

SCRIPT = """
- match: regar
  attempt: 1
  agent: asistente
  rounds:
    - - text: "Voy a mirarlo. "
      - delay: 2.5
      - tool: {name: create_reminder, args: {message: regar, time: en 5 minutos, n: 3, on: [1, x]}}
    - - text: "Hecho, de verdad."
- match: regar
  attempt: "2+"
  rounds: [[text: otra vez]]
- match: ^calla
  rounds: [[no_reply: true]]
"""
PLAYER = ReplayProvider.from_text(SCRIPT, "script.yaml")


async def play(player: ReplayProvider, *messages: object, **options: object) -> ModelOutput:
    return await complete(player, request(*messages, **options))  # type: ignore[arg-type]


async def test_a_round_is_played_in_order(autojump_clock: object) -> None:
    output = await play(PLAYER, "puedes REGAR las plantas")
    arguments = '{"message": "regar", "time": "en 5 minutos", "n": 3, "on": [1, "x"]}'
    assert output.text == "Voy a mirarlo. "
    assert output.calls == (ToolCall("call_1_1", "create_reminder", arguments),)
    assert output.finish.reason == "tool_calls"
    assert trio.current_time() == 2.5


async def test_the_round_follows_from_the_messages_and_not_from_memory() -> None:
    for _ in range(2):
        output = await play(PLAYER, "regar", *called("create_reminder", "ok"))
        assert (output.text, output.finish.reason) == ("Hecho, de verdad.", "stop")


async def test_earlier_turns_do_not_count_as_rounds(autojump_clock: object) -> None:
    output = await play(PLAYER, "regar", *called("create_reminder", "ok"), "regar")
    assert output.calls


async def test_cases_choose_by_attempt_and_agent(autojump_clock: object) -> None:
    assert (await play(PLAYER, "regar", attempt=2)).text == "otra vez"
    assert (await play(PLAYER, "regar", attempt=3)).text == "otra vez"
    told = (await play(PLAYER, "regar", agent="devops")).text
    assert told == "(replay: script.yaml has no case for 'regar')"


async def test_a_missing_round_says_so() -> None:
    rounds = (*called("x", "ok"), *called("x", "ok"))
    assert (await play(PLAYER, "regar", *rounds)).text == ("(replay: script.yaml:2 has no round 3)")


async def test_no_reply_is_no_reply() -> None:
    assert (await play(PLAYER, "calla ya")).is_no_reply


async def test_text_comes_in_pieces() -> None:
    pieces: list[str] = []

    async def note(delta: str) -> None:
        pieces.append(delta)

    player = ReplayProvider.from_text('- rounds: [[text: "uno dos  tres\\n"]]')
    output = await complete(player, request("x"), note)
    assert pieces == ["uno", " dos", "  tres\n"]
    assert output.text == "uno dos  tres\n"


def one(step: str) -> ReplayProvider:
    return ReplayProvider.from_text(f"- rounds:\n  - - text: hola\n    - {step}\n")


async def test_errors_are_model_errors_of_their_kind() -> None:
    with pytest.raises(ModelError) as plain:
        await play(one("error: se acabó"), "x")
    assert (plain.value.kind, plain.value.message) == ("http", "se acabó")
    with pytest.raises(ModelError) as typed:
        await play(one("error: {kind: refused, message: no}"), "x")
    assert (typed.value.kind, typed.value.retryable) == ("refused", False)


async def test_a_crash_is_no_model_error() -> None:
    with pytest.raises(ReplayCrash, match="boom"):
        await play(one("crash: boom"), "x")


async def test_a_hang_waits_until_it_is_cancelled(autojump_clock: object) -> None:
    limits = Deadlines(idle=30)
    with pytest.raises(ModelError) as caught:
        await complete(guarded(one("hang: true"), limits), request("x"))
    assert (caught.value.kind, caught.value.partial_text) == ("idle", "hola")
    assert trio.current_time() == 30


async def test_a_stream_can_be_cut_off() -> None:
    with pytest.raises(ModelError) as caught:
        await play(one("end: false"), "x")
    assert (caught.value.kind, caught.value.partial_text) == ("protocol", "hola")


async def test_a_message_need_not_be_there() -> None:
    player = ReplayProvider.from_text("- rounds: [[text: hola]]")
    assert (await play(player)).text == "hola"


@pytest.mark.parametrize(
    ("script", "problems"),
    [
        ("", ["s.yaml:1:1: script: must be a list of cases"]),
        ("a: 1", ["s.yaml:1:1: script: must be a list of cases"]),
        ("- rounds: []", ["s.yaml:1:11: rounds: must be a list of rounds, each a list of steps"]),
        ("- match: x", ["s.yaml:1:3: rounds: must be a list of rounds, each a list of steps"]),
        ("- rounds: [[txet: x]]", ["s.yaml:1:13: txet: unknown step (did you mean 'text'?)"]),
        (
            "- mach: x\n  match: '('\n  attempt: zero\n  rounds: [[]]",
            [
                "s.yaml:1:3: mach: unknown key (did you mean 'match'?)",
                "s.yaml:2:10: match: not a regular expression: missing ), unterminated "
                "subpattern at position 0",
                "s.yaml:3:12: attempt: must be a number such as 1, or \"2+\", not 'zero'",
                "s.yaml:4:12: round: must be a list of steps",
            ],
        ),
        ("- rounds: [[delay: -1]]", ["s.yaml:1:20: delay: must be seconds, 0 or more"]),
        ("- rounds: [[delay: .inf]]", ["s.yaml:1:20: delay: must be seconds, 0 or more"]),
        ("- rounds: [[hang: false]]", ["s.yaml:1:19: hang: only `hang: true` has a meaning"]),
        ("- rounds: [[end: true]]", ["s.yaml:1:18: end: only `end: false` has a meaning"]),
        ("- rounds: [[tool: {args: {}}]]", ["s.yaml:1:19: tool: needs `name`"]),
        ("- rounds: [[tool: {name: x, args: 1}]]", ["s.yaml:1:35: args: must be a mapping"]),
        (
            "- rounds: [[error: {kind: odd}]]",
            [
                "s.yaml:1:27: kind: must be one of connect, first_token, idle, total, http, "
                "protocol, refused"
            ],
        ),
        ("- rounds: [[text: {a: b}]]", ["s.yaml:1:19: text: must be text"]),
    ],
)
def test_every_fault_of_a_script_is_told_with_its_place(script: str, problems: list[str]) -> None:
    with pytest.raises(ScriptError) as caught:
        parse_script(script, "s.yaml")
    assert [str(problem) for problem in caught.value.problems] == problems


def test_broken_yaml_is_told_with_its_line() -> None:
    with pytest.raises(ScriptError, match=r"^s\.yaml:2:"):
        parse_script("- rounds: [[text: a]]\n- [", "s.yaml")


def test_a_step_has_one_key() -> None:
    with pytest.raises(ScriptError, match="must be one of text, delay, tool"):
        parse_script("- rounds: [[{text: a, error: x}]]", "s.yaml")


def test_a_file_is_read_under_its_name(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text("- rounds: 3")
    with pytest.raises(ScriptError, match=str(path)):
        ReplayProvider.from_file(path)


@given(
    st.text(alphabet="- []{}:'\"\nrounds text delay match attempt 0123x", max_size=80) | st.text()
)
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        parse_script(text, "s.yaml")
    except ScriptError as error:
        assert error.problems
