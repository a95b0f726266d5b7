"""The bus as the desk hears it: topics, agents by their ids, an end when the subscription ends."""

from __future__ import annotations

from channels.bus import Bus
from channels.messages import CellChanged, CellState
from channels.rooms import RoomEvent, text_content
from supervisor.desk.office import CellChange, Line
from supervisor.happenings import happenings


async def test_messages_and_changes_are_told_with_their_topic_until_the_end() -> None:
    bus = Bus()
    said = RoomEvent("$1", "#taller", "@devops:x", 12.0, text_content("hola"))
    with bus.subscribe("*") as events:
        bus.publish("rooms/#taller", said)
        bus.publish("supervision", CellChanged("root/api", CellState.RUNNING, 2, "reload"))
        stream = happenings(events, lambda: {"@devops:x": "devops"})
        line = Line("#taller", "@devops:x", "hola", "$1", 12.0, "devops")
        assert await anext(stream) == ("rooms/#taller", line)
        change = CellChange("root/api", "running", 2, "reload")
        assert await anext(stream) == ("supervision", change)
        bus.unsubscribe(events.id)
        assert [happening async for happening in stream] == []


async def test_an_agent_that_came_later_is_known_by_its_id() -> None:
    bus, agents = Bus(), dict[str, str]()
    with bus.subscribe("rooms/*") as events:
        stream = happenings(events, lambda: agents)
        agents["devops"] = "devops"
        bus.publish("rooms/#a", RoomEvent("$1", "#a", "devops", 1.0, text_content("hola")))
        _, line = await anext(stream)
        assert isinstance(line, Line)
        assert line.agent == "devops"
        await stream.aclose()  # type: ignore[attr-defined]
