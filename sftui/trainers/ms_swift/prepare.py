"""A row's messages as the rounds that are put into a template: calls and results written out, neighbours merged,
thoughts put in or taken out.

Source: ms-swift 4.6.0, template/base.py (_preprocess_tools, _preprocess_tool_call, _preprocess_standalone_tools,
_swift_prepare_inputs, _add_non_thinking_prefix, _remove_history_thinking, _get_system, _get_std_messages) and the
classes of template/templates that change them. Whatever raises there leaves the row out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sftui.errors import ConversationError
from sftui.model import NOWHERE, Part
from sftui.trainers.ms_swift import agents
from sftui.trainers.ms_swift.registry import Template, TemplateClass
from sftui.trainers.ms_swift.rows import DroppedRow, RowInput
from sftui.trainers.ms_swift.texts import Run, Text, cut, said, stripped, written

THINKS, THOUGHT = "<think>", "</think>"
PREPARED = "ms-swift rounds"
"""The key of `Conversation.extra` that holds the rounds of a row, a `RowRounds`."""


@dataclass(frozen=True, slots=True)
class ThinkingOptions:
    """What the config says of thoughts; None leaves it to the template, `preserve` then to the loss scale."""

    add: bool = True
    enable: bool | None = None
    preserve: bool | None = None
    prefix: str | None = None
    last_round: bool = False


@dataclass(slots=True)
class SwiftTurn:
    """A message while it is prepared: the texts that it says, one where it was not merged, and what the data says of
    its loss, once for each text."""

    role: str
    texts: list[Text]
    merged: bool = False
    loss: list[Any] | None = None
    scale: list[Any] | None = None
    slotted: agents.Slotted | None = None

    @property
    def whole(self) -> str:
        return "".join(map(said, self.texts))


@dataclass(frozen=True, slots=True)
class Round:
    """A question and its answer: `slotted` where results of tools stand for the question, already in their slots.

    `answer` None: it is still to come. `loss` and `scale` are what the data says, one for each text of the answer.
    """

    query: Text
    slotted: tuple[Any, ...] | None
    answer: tuple[Text, ...] | None
    loss: tuple[Any, ...]
    scale: tuple[Any, ...]
    asked: int
    answered: int


@dataclass(frozen=True, slots=True)
class RowRounds:
    """The rounds of a row, the system text before them, and what an answer to come begins with."""

    rounds: tuple[Round, ...]
    system: Text | None
    prefix: str
    last_round: int
    """The place of the last message that asks, a user's or a tool's; -1 where there is none."""
    notes: tuple[str, ...] = ()


def prepared(
    given: RowInput, template: Template, agent: str | None, thinking: ThinkingOptions, bare: bool
) -> RowRounds:
    """A row's rounds; Left where ms-swift leaves it out. `bare`: the texts alone, without a chat template."""
    first = 0 if given.system is None else 1
    turns = [_turn(message, first + number) for number, message in enumerate(given.messages)]
    system = None if given.system is None else written(given.system, 0)
    tools = agents.wrapped(given.tools) if given.tools else []
    if tools:
        agents.agent_of(agent, template)
    turns = _with_calls(turns, template, agent)
    turns = _with_standalone(turns, template, agent)
    turns = _merged(turns, template, agent)
    if template.kind is TemplateClass.GEMMA3:
        _gemma3(turns, system)
        system = None
    notes: tuple[str, ...] = ()
    if bare:
        system = None
    else:
        if thinking.add:
            _add_thoughts(turns, template, thinking)
        if not _preserves(given.variables, template, thinking):
            _remove_thoughts(turns, template)
        if system is not None and not template.takes_system:
            raise DroppedRow(f"the template {template.name} takes no system text (AssertionError)")
        if system is None and template.default_system is not None:
            system = written(template.default_system, NOWHERE, Part.INJECTED)
        if tools:
            system, notes = _with_tools(tools, turns, system, agents.agent_of(agent, template))
    return _rounds(turns, template, system, _prefix(given.variables, template, thinking, bare), notes)


def _turn(message: Mapping[str, Any], number: int) -> SwiftTurn:
    role = message["role"]
    return SwiftTurn(
        role,
        [written(message["content"], number)],
        loss=[message["loss"]] if "loss" in message else None,
        scale=[message["loss_scale"]] if "loss_scale" in message else None,
    )


def _of(turn: SwiftTurn) -> int:
    """The message that a turn begins with."""
    return next((run.message for text in turn.texts for run in text), NOWHERE)


def _said(turn: SwiftTurn) -> agents.AgentText:
    return agents.AgentText(said(turn.texts[0]), _of(turn))


def _with_calls(turns: list[SwiftTurn], template: Template, agent: str | None) -> list[SwiftTurn]:
    """Calls that follow each other become one text of the assistant's."""
    found: list[SwiftTurn] = []
    at = 0
    while at < len(turns):
        if turns[at].role != "tool_call":
            found.append(turns[at])
            at += 1
            continue
        end = at
        while end < len(turns) and turns[end].role == "tool_call":
            end += 1
        some = turns[at:end]
        name = agents.agent_of(agent, template)
        before = found[-1] if found and found[-1].role == "assistant" else None
        text, strips = agents.calls(name, list(map(_said, some)), said(before.texts[0]) if before else None)
        if strips and before is not None:
            before.texts[0] = stripped(before.texts[0])
        loss = next((one.loss for one in some if one.loss is not None), None)
        scale = next((one.scale for one in some if one.scale is not None), None)
        found.append(SwiftTurn("assistant", [text], loss=loss, scale=scale))
        at = end
    return found


def _with_standalone(turns: list[SwiftTurn], template: Template, agent: str | None) -> list[SwiftTurn]:
    """Results behind a question become part of it."""
    found: list[SwiftTurn] = []
    at = 0
    while at < len(turns):
        if turns[at].role != "tool" or (found and found[-1].role in ("assistant", "tool")):
            found.append(turns[at])
            at += 1
            continue
        end = at
        while end < len(turns) and turns[end].role == "tool":
            end += 1
        if not found or found[-1].role != "user":
            raise DroppedRow("a result of a tool stands behind neither a call nor a question (ValueError)")
        name = agents.agent_of(agent, template)
        more = agents.standalone(name, list(map(_said, turns[at:end])), template)
        found[-1].texts = [(*found[-1].texts[0], *more)]
        at = end
    return found


def _merged(turns: list[SwiftTurn], template: Template, agent: str | None) -> list[SwiftTurn]:
    """Neighbours of one role as one turn, and the results of tools in their slots."""
    if len(turns) < 2:
        return turns
    found = turns[:1]
    at = 1
    while at < len(turns):
        before, turn = found[-1], turns[at]
        if before.role == "assistant" and turn.role == "tool":
            end = at
            while end < len(turns) and turns[end].role == "tool":
                end += 1
            name = agents.agent_of(agent, template)
            answer = _asked(before, name)
            more, slots = agents.results(name, answer, list(map(_said, turns[at:end])), template)
            if more:
                before.texts[-1] = (*before.texts[-1], *more)
            found.append(SwiftTurn("tool", [turn.texts[0]], slotted=slots))
            at = end
        elif before.role == turn.role == "assistant":
            _join(before, turn)
            at += 1
        elif before.role == turn.role == "user":
            before.texts = [(*before.texts[0], *turn.texts[0])]
            at += 1
        else:
            found.append(turn)
            at += 1
    return found


def _asked(before: SwiftTurn, agent: str) -> Text | None:
    """The text of an answer that is looked at before results: of a merged one its last, by the plain rules alone."""
    if not before.merged:
        return before.texts[0]
    plain = agent.startswith(("react", "qwen_")) or agent == "toolbench"
    if not plain:
        action, given, _ = agents.keywords(agent)
        texts = set(map(said, before.texts))
        if action in texts and given in texts:
            raise ConversationError(
                "a merged answer holds the words of a call as texts of their own",
                why="what ms-swift makes of it is not known",
            )
        return None
    return before.texts[-1]


def _join(before: SwiftTurn, turn: SwiftTurn) -> None:
    """Answers that follow each other, each with what is said of its loss: a list of it is one for each."""
    for turned in (before, turn):
        if any(isinstance(one, list) for one in (*(turned.loss or ()), *(turned.scale or ()))):
            raise ConversationError(
                "the loss of a message that is merged with the next is a list",
                why="what ms-swift makes of it is not known",
            )
    before.loss = [*(before.loss or [None] * len(before.texts)), *(turn.loss or [None] * len(turn.texts))]
    before.scale = [*(before.scale or [None] * len(before.texts)), *(turn.scale or [None] * len(turn.texts))]
    before.texts, before.merged = [*before.texts, *turn.texts], True


def _gemma3(turns: list[SwiftTurn], system: Text | None) -> None:
    """Gemma 3 has the system text before the first message, and no line breaks around answers."""
    if system is not None:
        if not turns:
            raise DroppedRow("there is nothing but a system text (IndexError)")
        if turns[0].merged or turns[0].slotted is not None:
            raise DroppedRow("the first message is no text (TypeError)")
        turns[0].texts[0] = (*system, Run("\n\n", 0, Part.SEPARATOR), *turns[0].texts[0])
    for turn in turns:
        if turn.role == "assistant" and not turn.merged:
            turn.texts[0] = stripped(turn.texts[0], "\n")


def _last_asked(turns: Sequence[SwiftTurn]) -> int:
    return next((i for i in range(len(turns) - 1, -1, -1) if turns[i].role in ("user", "tool")), -1)


def _add_thoughts(turns: list[SwiftTurn], template: Template, thinking: ThinkingOptions) -> None:
    """An empty thought before each answer that has none, or before those of the last round."""
    prefix = template.non_thinking_prefix
    if not prefix:
        return
    start = _last_asked(turns) if thinking.last_round and not template.preserve_thinking else -1
    for number, turn in enumerate(turns):
        if number < start or turn.role != "assistant" or not turn.texts:
            continue
        if template.kind is TemplateClass.DEEPSEEK_V3_1 and not (number and turns[number - 1].role == "user"):
            continue
        if not said(turn.texts[0]).startswith((THINKS, prefix)):
            turn.texts[0] = (Run(prefix, _of(turn), Part.INJECTED), *turn.texts[0])


def _preserves(variables: Mapping[str, Any], template: Template, thinking: ThinkingOptions) -> Any:
    for one in (variables.get("preserve_thinking"), thinking.preserve, template.preserve_thinking):
        if one is not None:
            return one
    return not ((template.is_thinking or _enables(variables, template, thinking)) and thinking.last_round)


def _enables(variables: Mapping[str, Any], template: Template, thinking: ThinkingOptions) -> Any:
    given = variables.get("enable_thinking")
    if given is not None:
        return given
    own = thinking.enable
    return template.is_thinking and not template.non_thinking_prefix if own is None else own


def _prefix(variables: Mapping[str, Any], template: Template, thinking: ThinkingOptions, bare: bool) -> str:
    """What an answer that is still to come begins with."""
    given = variables.get("response_prefix")
    given = thinking.prefix if given is None else given
    if given is not None:
        if not isinstance(given, str):
            raise DroppedRow("its response_prefix is no text")
        return given
    if bare:
        return ""
    return template.thinking_prefix if _enables(variables, template, thinking) else template.non_thinking_prefix


def _remove_thoughts(turns: list[SwiftTurn], template: Template) -> None:
    """Answers before the last question lose their thoughts."""
    last = _last_asked(turns)
    for number, turn in enumerate(turns):
        if turn.role != "assistant" or number >= last or not turn.texts:
            continue
        text, owner = turn.texts[0], _of(turn)
        whole = said(text)
        if template.kind is TemplateClass.HUNYUAN:
            start = whole.rfind("<answer>")
            left = cut(text, start + len("<answer>") if start >= 0 else 0, len(whole.rstrip()))
            if said(left).endswith("</answer>"):
                left = cut(left, 0, len(said(left)) - len("</answer>"))
        else:
            start = whole.rfind(THOUGHT)
            left = cut(text, start + len(THOUGHT) if start >= 0 else 0, len(whole))
        before = template.history_thinking_prefix
        turn.texts[0] = (*((Run(before, owner, Part.INJECTED),) if before else ()), *stripped(left))


def _with_tools(
    tools: Sequence[Any], turns: list[SwiftTurn], system: Text | None, agent: str
) -> tuple[Text, tuple[str, ...]]:
    """The system text with the tools of the row."""
    if not turns:
        raise DroppedRow("there is nothing but tools (IndexError)")
    owner = system[0].message if system else NOWHERE
    text, before = agents.listing(agent, tools, system, owner)
    notes: tuple[str, ...] = ()
    if agent in agents.LEAVES_SYSTEM and system and said(system):
        notes = (f"the agent_template {agent} writes the tools in place of the system text, which is left out",)
    if before:
        if turns[0].merged or turns[0].slotted is not None:
            raise ConversationError(
                "the tools are written before a first message that is no question",
                why="what ms-swift makes of it is not known",
            )
        turns[0].texts[0] = (Run(before, _of(turns[0]), Part.INJECTED), *turns[0].texts[0])
    return text, notes


def _rounds(
    turns: list[SwiftTurn], template: Template, system: Text | None, prefix: str, notes: tuple[str, ...]
) -> RowRounds:
    """Questions and answers in turn; Left where they are not."""
    if turns and turns[0].role == "assistant":
        turns = [SwiftTurn("user", [()]), *turns]
    odd = len(turns) % 2 == 1
    if len(turns) + odd > 2 and template.chat_sep is None:
        turns = turns[-1:] if odd else turns[-2:]
        notes = (*notes, f"the template {template.name} takes one round: only the last one is used")
    if not turns:
        raise DroppedRow("there are no messages (AssertionError)")
    found: list[Round] = []
    for number in range(0, len(turns), 2):
        asked = turns[number]
        answered = turns[number + 1] if number + 1 < len(turns) else None
        if asked.role not in ("user", "tool"):
            raise DroppedRow(
                f"a message of the role {asked.role} stands where one of the user's or a tool's must (AssertionError)"
            )
        if answered is not None and answered.role != "assistant":
            raise DroppedRow(f"a message of the role {answered.role} stands where an answer must (AssertionError)")
        if asked.role == "tool" and asked.slotted is None:
            raise DroppedRow("a result of a tool stands where it is not written (AssertionError)")
        found.append(_round(asked, answered))
    last = _last_asked(turns)
    return RowRounds(tuple(found), system, prefix, last, notes)


def _round(asked: SwiftTurn, answered: SwiftTurn | None) -> Round:
    answer = None if answered is None else tuple(answered.texts)
    return Round(
        asked.texts[0],
        None if asked.slotted is None else tuple(asked.slotted),
        answer,
        _each(answered, answered.loss if answered else None),
        _each(answered, answered.scale if answered else None),
        _of(asked),
        NOWHERE if answered is None else _of(answered),
    )


def _each(answered: SwiftTurn | None, given: list[Any] | None) -> tuple[Any, ...]:
    """What is said of the loss of each text of an answer."""
    if answered is None:
        return ()
    if given is None:
        return (None,) * len(answered.texts)
    if not answered.merged and isinstance(given[0], list):
        if not given[0]:
            raise DroppedRow("the loss of a message is an empty list (IndexError)")
        return (given[0][0],)
    return tuple(given)


__all__ = ["PREPARED", "Round", "RowRounds", "SwiftTurn", "ThinkingOptions", "prepared"]
