"""The shape of `supervisor.yaml` and `agents/<id>/config.yaml`; times are in seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import attrs

from config.constraints import Between, ExistingFile, FilledByLoader, Matches, Unique
from config.secrets import Secret
from config.zone import host_zone

__all__ = [
    "ActionConfig",
    "AgentConfig",
    "ClockToolConfig",
    "DelegateToolConfig",
    "LlmConfig",
    "MatrixAccountConfig",
    "MatrixServerConfig",
    "ModuleText",
    "ReminderToolConfig",
    "RemindersConfig",
    "RoomConfig",
    "ScheduleConfig",
    "SupervisionConfig",
    "SupervisorConfig",
    "ToolsConfig",
    "WebConfig",
]

DAY = 86400.0

Text = Annotated[str, Matches(r"(?s).*\S.*", "some text")]
Line = Annotated[str, Matches(r".*\S.*", "some text on one line")]
Word = Annotated[str, Matches(r"\S{1,255}", "one word without spaces")]
RoomId = Annotated[
    str,
    Matches(
        r"[#!][^\s/\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,254}",
        'a room id such as "#taller" or "!abc:example.org"',
    ),
]
Name = Annotated[
    str, Matches(r"[\w.-]{1,64}", "a name of letters, digits, dots, - and _ (at most 64)")
]
Url = Annotated[str, Matches(r"https?://[^\s/]\S*", 'an address such as "https://example.org"')]
UserId = Annotated[str, Matches(r"@[^\s:]+:\S+", 'a Matrix user id such as "@bot:example.org"')]
Pause = Annotated[float, Between(0, DAY)]
Deadline = Annotated[float, Between(0.001, DAY)]

Faults = Iterator[tuple[tuple[str, ...], str]]
"""What a `faults()` yields: the fields of a rule (it points at the first), and what is wrong."""


# -- supervisor.yaml ----------------------------------------------------------------------------


@attrs.frozen
class WebConfig:
    """Where the web page listens; port None tries 8470 and upwards, 0 takes any free one."""

    host: Word = "127.0.0.1"
    port: Annotated[int, Between(0, 65535)] | None = None


@attrs.frozen
class MatrixServerConfig:
    """The homeserver of all agents that name none themselves."""

    homeserver: Url | None = None


@attrs.frozen
class RemindersConfig:
    """The one reminder store of the workspace."""

    db_path: Line = "data/reminders.db"
    late_one_shots: Literal["deliver", "discard"] = "deliver"
    retention_days: Annotated[int, Between(1, 36500)] = 30
    prefix: Annotated[str, Matches(r"[^\r\n]{0,20}", "up to 20 characters on one line")] = "⏰"


@attrs.frozen
class RoomConfig:
    """A room that agents share, and the rules of who may speak in it."""

    id: RoomId
    alias: RoomId | None = None
    type: Literal["shared"] = "shared"
    participants: Annotated[tuple[Word, ...], Unique()] = ()
    policy: Literal["first", "round_robin", "all", "route"] = "first"
    turn_based: bool = False
    respond_to_bots: bool = False
    response_cooldown_seconds: Pause = 60.0
    cooldown_applies_to: Literal["all", "bots"] = "all"
    max_bot_turns: Annotated[int, Between(0, 1000)] = 6
    max_agent_messages_per_hour: Annotated[int, Between(1, 100_000)] = 120
    timezone: Word | None = None


@attrs.frozen
class SupervisionConfig:
    """Restart limits and the time that starting and stopping may take."""

    max_restarts: Annotated[int, Between(0, 1000)] = 5
    window_seconds: Deadline = 60.0
    backoff_initial_seconds: Pause = 0.1
    backoff_max_seconds: Pause = 5.0
    grace_seconds: Pause = 5.0
    start_seconds: Deadline = 10.0
    stop_seconds: Deadline = 1.0

    def faults(self) -> Faults:
        """Yield what no single field shows: a backoff so long that the limit is never reached."""
        most = self.window_seconds / (self.max_restarts + 1)
        if self.backoff_max_seconds > most:
            yield (
                ("backoff_max_seconds", "window_seconds", "max_restarts"),
                f"must not exceed window_seconds / (max_restarts + 1) = {most:.4g}, "
                "else the restart limit could never be reached",
            )
        if self.backoff_initial_seconds > self.backoff_max_seconds:
            yield (
                ("backoff_initial_seconds", "backoff_max_seconds"),
                "must not exceed backoff_max_seconds",
            )


@attrs.frozen
class SupervisorConfig:
    """The whole of `supervisor.yaml`."""

    timezone: Word = attrs.field(factory=host_zone)
    locale: Literal["es", "en"] = "es"
    transport: Literal["local", "matrix"] = "local"
    web: WebConfig = WebConfig()
    matrix: MatrixServerConfig = MatrixServerConfig()
    reminders: RemindersConfig = RemindersConfig()
    rooms: Annotated[tuple[RoomConfig, ...], Unique("id"), Unique("alias")] = ()
    known_bots: tuple[Word, ...] = ()
    supervision: SupervisionConfig = SupervisionConfig()
    max_event_age_seconds: Annotated[float, Between(1, 366 * DAY)] = DAY


# -- agents/<id>/config.yaml --------------------------------------------------------------------


@attrs.frozen
class MatrixAccountConfig:
    """An agent's account on a homeserver."""

    user_id: UserId
    access_token: Secret | None = None
    password: Secret | None = None
    device_id: Word | None = None
    homeserver: Url | None = None


@attrs.frozen
class LlmConfig:
    """Which model answers, and how long it may take. `script` is the replay provider's file."""

    provider: Word = "builtin"
    model: Line | None = None
    base_url: Url | None = None
    api_key: Secret | None = None
    temperature: Annotated[float, Between(0, 2)] | None = None
    max_tokens: Annotated[int, Between(1, 10_000_000)] | None = None
    script: Annotated[str, ExistingFile("folder")] | None = None
    connect_seconds: Deadline = 10.0
    first_token_seconds: Deadline = 60.0
    idle_seconds: Deadline = 30.0
    total_seconds: Deadline = 300.0


@attrs.frozen
class ReminderToolConfig:
    """Whether the agent may set reminders, and how many may be active in one room."""

    enabled: bool = False
    max_per_room: Annotated[int, Between(1, 100_000)] = 50


@attrs.frozen
class ClockToolConfig:
    """Whether the agent may tell the time."""

    enabled: bool = True


@attrs.frozen
class DelegateToolConfig:
    """Whether the agent may ask the other agents."""

    enabled: bool = True


@attrs.frozen
class ToolsConfig:
    """What the agent's model may call; `modules` are Python files with tools of the user's own."""

    reminders: ReminderToolConfig = ReminderToolConfig()
    clock: ClockToolConfig = ClockToolConfig()
    delegate: DelegateToolConfig = DelegateToolConfig()
    modules: Annotated[tuple[Annotated[str, ExistingFile("folder")], ...], Unique()] = ()


@attrs.frozen
class ModuleText:
    """A Python file as it was when the configuration was read; `shown` is its path for people."""

    path: str
    shown: str
    text: str = attrs.field(repr=False)


@attrs.frozen
class ActionConfig:
    """What a schedule does when it is due."""

    kind: Literal["send_message", "llm_prompt", "agent_call"]
    message: Text | None = None
    prompt: Text | None = None
    prompt_template: Annotated[str, ExistingFile("workspace")] | None = None
    target_agent: Word | None = None
    timeout_seconds: Deadline = 120.0

    def faults(self) -> Faults:
        """Yield what this kind needs and has not, and what it does not use."""
        uses = _USES[self.kind]
        for key in ("message", "prompt", "prompt_template", "target_agent"):
            if getattr(self, key) is not None and key not in uses:
                yield (key,), f"has no meaning for kind {self.kind}: remove it"
        for key in ("message", "target_agent"):
            if key in uses and getattr(self, key) is None:
                yield (key,), f"is missing: kind {self.kind} needs `{key}: ...`"
        prompts = ("prompt", "prompt_template")
        given = sum(getattr(self, key) is not None for key in prompts)
        if "prompt" in uses and given != 1:
            yield prompts, f"kind {self.kind} needs one of `prompt: ...` and `prompt_template: ...`"


_USES = {
    "send_message": ("message",),
    "llm_prompt": ("prompt", "prompt_template"),
    "agent_call": ("prompt", "prompt_template", "target_agent"),
}


@attrs.frozen
class ScheduleConfig:
    """A cron expression or an interval, and what is done in which room when it is due.

    `overlap`: what happens to a time that comes while the last run is still going. `catch_up`: what
    happens to times that passed while nothing ran; at most `catch_up_limit` of them, none later
    than `catch_up_window_seconds`. `jitter_seconds`: each time is put off by up to so much.
    """

    name: Name
    output_room: RoomId
    action: ActionConfig
    cron: Line | None = None
    every: Line | None = None
    timezone: Word | None = None
    enabled: bool = True
    overlap: Literal["skip", "queue_one", "allow"] = "skip"
    catch_up: Literal["skip", "latest", "all"] = "latest"
    catch_up_limit: Annotated[int, Between(1, 1000)] = 10
    catch_up_window_seconds: Annotated[float, Between(0, 31 * DAY)] = 300.0
    jitter_seconds: Pause = 0.0

    def faults(self) -> Faults:
        """Yield what no single field shows: it needs exactly one of cron and every."""
        if self.cron is None and self.every is None:
            yield ("cron", "every"), 'is missing: write `cron: "0 9 * * 1"` or `every: 2h` here'
        if self.cron is not None and self.every is not None:
            yield ("every", "cron"), "is given beside cron: keep one of the two"

    @property
    def when(self) -> str:
        """How it recurs, for people: the cron expression, or `every 2h`."""
        return self.cron if self.cron is not None else f"every {self.every}"


@attrs.frozen
class AgentConfig:
    """The whole of an agent's `config.yaml`, its id (the folder's name), and its files' texts."""

    id: Annotated[str, FilledByLoader()]
    prompt_text: Annotated[str, FilledByLoader()] = attrs.field(default="", repr=False)
    display_name: Line | None = None
    description: str = ""
    topics: tuple[Line, ...] = ()
    matrix: MatrixAccountConfig | None = None
    llm: LlmConfig = LlmConfig()
    prompt: Annotated[str, ExistingFile("folder")] = "prompt.md"
    tools: ToolsConfig = ToolsConfig()
    tool_modules: Annotated[tuple[ModuleText, ...], FilledByLoader()] = ()
    schedules: Annotated[tuple[ScheduleConfig, ...], Unique("name")] = ()
    grace_seconds: Pause | None = None
    max_tool_rounds: Annotated[int, Between(0, 1000)] = 8
    turn_seconds: Deadline = 600.0
    history_messages: Annotated[int, Between(0, 10_000)] = 20
    mailbox_capacity: Annotated[int, Between(1, 1_000_000)] = 64
