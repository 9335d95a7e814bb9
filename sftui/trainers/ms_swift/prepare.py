"""A row's messages as the rounds that are put into a template: calls and results written out, neighbours merged,
thoughts put in or taken out.

Source: ms-swift 4.6.0, template/base.py (_preprocess_tools, _preprocess_tool_call, _preprocess_standalone_tools,
_swift_prepare_inputs, _add_non_thinking_prefix, _remove_history_thinking, _get_system, _get_std_messages) and the
classes of template/templates that change them. Whatever raises there leaves the row out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Any

from sftui.errors import ConversationError
from sftui.model import NOWHERE, Part
from sftui.trainers.ms_swift import MsSwiftOptions, agents
from sftui.trainers.ms_swift.registry import Template, TemplateClass
from sftui.trainers.ms_swift.rows import DroppedRow, RowInput
from sftui.trainers.pieces import Run, Text, cut, said, stripped, written

THINKS, THOUGHT = "<think>", "</think>"
PREPARED = "ms-swift rounds"
"""The key of `Conversation.extra` that holds the rounds of a row, a `RowRounds`."""


@dataclass(frozen=True, slots=True)
class RowOptions:
    """What a recipe asks of every row, whatever the tokenizer: `strategy` and `names` are the loss scale, `binary`
    whether it has no weights but 0 and 1."""

    template: Template
    own: MsSwiftOptions
    strategy: str
    names: tuple[str, ...]
    binary: bool


@dataclass(slots=True)
class SwiftTurn:
    """A message while it is prepared: the texts that it says, one where it was not merged, and what the data says of
    its loss, once for each text; `slotted` where results of tools stand for it, already in their slots."""

    role: str
    texts: list[Text]
    merged: bool = False
    loss: list[Any] | None = None
    scale: list[Any] | None = None
    slotted: agents.Slotted | None = None

    @property
    def message(self) -> int:
        """The message that it begins with."""
        return next((run.message for text in self.texts for run in text), NOWHERE)

    @property
    def said(self) -> Run:
        """What it says, as one."""
        return Run(said(self.texts[0]), self.message, Part.CONTENT)


@dataclass(frozen=True, slots=True)
class RowRounds:
    """The rounds of a row, the system text before them, and what an answer to come begins with."""

    rounds: tuple[tuple[SwiftTurn, SwiftTurn | None], ...]
    """A question and its answer each, of which the last one may be still to come."""
    system: Text | None
    prefix: str
    last_round: int
    """The place of the last message that asks, a user's or a tool's; -1 where there is none."""
    notes: tuple[str, ...] = ()


def prepared(given: RowInput, options: RowOptions) -> RowRounds:
    """A row's rounds; DroppedRow where ms-swift leaves it out. Without a chat template they are its texts alone."""
    template, own = options.template, options.own
    first = 0 if given.system is None else 1
    turns = [_turn(message, first + number) for number, message in enumerate(given.messages)]
    system = None if given.system is None else written(given.system, 0)
    tools = agents.wrapped(given.tools) if given.tools else []
    if tools:
        agents.agent_of(own.agent_template, template)
    turns = _with_calls(turns, template, own.agent_template)
    turns = _with_standalone(turns, template, own.agent_template)
    turns = _merged(turns, template, own.agent_template)
    if template.kind is TemplateClass.GEMMA3:
        _gemma3(turns, system)
        system = None
    notes: tuple[str, ...] = ()
    if not own.use_chat_template:
        system = None
    else:
        if own.add_non_thinking_prefix:
            _add_thoughts(turns, options)
        if not _preserves(given.variables, options):
            _remove_thoughts(turns, template)
        if system is not None and not template.takes_system:
            raise DroppedRow(f"the template {template.name} has no system text (AssertionError)")
        if system is None and template.default_system is not None:
            system = written(template.default_system, NOWHERE, Part.INJECTED)
        if tools:
            system, notes = _with_tools(tools, turns, system, agents.agent_of(own.agent_template, template))
    return _rounds(turns, template, system, _prefix(given.variables, options), notes)


def _turn(message: Mapping[str, Any], number: int) -> SwiftTurn:
    role = message["role"]
    return SwiftTurn(
        role,
        [written(message["content"], number)],
        loss=[message["loss"]] if "loss" in message else None,
        scale=[message["loss_scale"]] if "loss_scale" in message else None,
    )


def _grouped(turns: Sequence[SwiftTurn], role: str) -> Iterator[list[SwiftTurn]]:
    """The turns one by one, but those of a role that follow each other together."""
    for same, some in groupby(turns, lambda turn: turn.role == role):
        group = list(some)
        yield from [group] if same else ([turn] for turn in group)


def _with_calls(turns: list[SwiftTurn], template: Template, agent: str | None) -> list[SwiftTurn]:
    """Calls that follow each other become one text of the assistant's."""
    found: list[SwiftTurn] = []
    for some in _grouped(turns, "tool_call"):
        if some[0].role != "tool_call":
            found += some
            continue
        name = agents.agent_of(agent, template)
        before = found[-1] if found and found[-1].role == "assistant" else None
        text, strips = agents.calls(name, [turn.said for turn in some], said(before.texts[0]) if before else None)
        if strips and before is not None:
            before.texts[0] = stripped(before.texts[0])
        loss = next((turn.loss for turn in some if turn.loss is not None), None)
        scale = next((turn.scale for turn in some if turn.scale is not None), None)
        found.append(SwiftTurn("assistant", [text], loss=loss, scale=scale))
    return found


def _with_standalone(turns: list[SwiftTurn], template: Template, agent: str | None) -> list[SwiftTurn]:
    """Results behind a question become part of it."""
    found: list[SwiftTurn] = []
    for some in _grouped(turns, "tool"):
        if some[0].role != "tool" or (found and found[-1].role in ("assistant", "tool")):
            found += some
            continue
        if not found or found[-1].role != "user":
            raise DroppedRow("a tool result follows neither a call nor a question (ValueError)")
        more = agents.standalone(agents.agent_of(agent, template), [turn.said for turn in some], template)
        found[-1].texts = [(*found[-1].texts[0], *more)]
    return found


def _merged(turns: list[SwiftTurn], template: Template, agent: str | None) -> list[SwiftTurn]:
    """Neighbours of one role as one turn, and the results of tools in their slots."""
    found: list[SwiftTurn] = []
    for some in _grouped(turns, "tool"):
        before, turn = found[-1] if found else None, some[0]
        if before is not None and (before.role, turn.role) == ("assistant", "tool"):
            name = agents.agent_of(agent, template)
            more, slots = agents.results(name, _asked(before, name), [result.said for result in some], template)
            if more:
                before.texts[-1] = (*before.texts[-1], *more)
            found.append(SwiftTurn("tool", [turn.texts[0]], slotted=slots))
        elif before is not None and before.role == turn.role == "assistant":
            _join(before, turn)
        elif before is not None and before.role == turn.role == "user":
            before.texts = [(*before.texts[0], *turn.texts[0])]
        else:
            found += some
    return found


def _unknown(what: str) -> ConversationError:
    return ConversationError(what, why="sftui does not know what ms-swift does with it")


def _asked(before: SwiftTurn, agent: str) -> Text | None:
    """The text of an answer that is looked at before results: of a merged one its last, by the plain rules alone."""
    if not before.merged:
        return before.texts[0]
    plain = agent.startswith(("react", "qwen_")) or agent == "toolbench"
    if not plain:
        action, given, _ = agents.keywords(agent)
        texts = set(map(said, before.texts))
        if action in texts and given in texts:
            raise _unknown("a merged answer contains the text of a tool call in separate parts")
        return None
    return before.texts[-1]


def _join(before: SwiftTurn, turn: SwiftTurn) -> None:
    """Answers that follow each other, each with what is said of its loss: a list of it is one for each."""
    for turned in (before, turn):
        if any(isinstance(said, list) for said in (*(turned.loss or ()), *(turned.scale or ()))):
            raise _unknown("the loss of a message that is merged with the next is a list")
    before.loss = [*(before.loss or [None] * len(before.texts)), *(turn.loss or [None] * len(turn.texts))]
    before.scale = [*(before.scale or [None] * len(before.texts)), *(turn.scale or [None] * len(turn.texts))]
    before.texts, before.merged = [*before.texts, *turn.texts], True


def _gemma3(turns: list[SwiftTurn], system: Text | None) -> None:
    """Gemma 3 has the system text before the first message, and no line breaks around answers."""
    if system is not None:
        if not turns:
            raise DroppedRow("the row has only a system text (IndexError)")
        if turns[0].merged or turns[0].slotted is not None:
            raise DroppedRow("the first message is not text (TypeError)")
        turns[0].texts[0] = (*system, Run("\n\n", 0, Part.SEPARATOR), *turns[0].texts[0])
    for turn in turns:
        if turn.role == "assistant" and not turn.merged:
            turn.texts[0] = stripped(turn.texts[0], "\n")


def _last_asked(turns: Sequence[SwiftTurn]) -> int:
    return next((i for i in range(len(turns) - 1, -1, -1) if turns[i].role in ("user", "tool")), -1)


def _add_thoughts(turns: list[SwiftTurn], options: RowOptions) -> None:
    """An empty thought before each answer that has none, or before those of the last round."""
    template = options.template
    prefix = template.non_thinking_prefix
    if not prefix:
        return
    start = _last_asked(turns) if options.strategy == "last_round" and not template.preserve_thinking else -1
    for number, turn in enumerate(turns):
        if number < start or turn.role != "assistant" or not turn.texts:
            continue
        if template.kind is TemplateClass.DEEPSEEK_V3_1 and not (number and turns[number - 1].role == "user"):
            continue
        if not said(turn.texts[0]).startswith((THINKS, prefix)):
            turn.texts[0] = (Run(prefix, turn.message, Part.INJECTED), *turn.texts[0])


def _preserves(variables: Mapping[str, Any], options: RowOptions) -> Any:
    template = options.template
    asked = (variables.get("preserve_thinking"), options.own.preserve_thinking, template.preserve_thinking)
    removes = (template.is_thinking or _enables(variables, options)) and options.strategy == "last_round"
    return next((one for one in asked if one is not None), not removes)


def _enables(variables: Mapping[str, Any], options: RowOptions) -> Any:
    asked, template = (variables.get("enable_thinking"), options.own.enable_thinking), options.template
    return next((one for one in asked if one is not None), template.is_thinking and not template.non_thinking_prefix)


def _prefix(variables: Mapping[str, Any], options: RowOptions) -> str:
    """What an answer that is still to come begins with."""
    template, given = options.template, variables.get("response_prefix")
    given = options.own.response_prefix if given is None else given
    if given is not None:
        if not isinstance(given, str):
            raise DroppedRow("its response_prefix is not text")
        return given
    if not options.own.use_chat_template:
        return ""
    return template.thinking_prefix if _enables(variables, options) else template.non_thinking_prefix


def _remove_thoughts(turns: list[SwiftTurn], template: Template) -> None:
    """Answers before the last question lose their thoughts."""
    last = _last_asked(turns)
    for number, turn in enumerate(turns):
        if turn.role != "assistant" or number >= last or not turn.texts:
            continue
        text, owner = turn.texts[0], turn.message
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
        raise DroppedRow("the row has tools but no messages (IndexError)")
    owner = system[0].message if system else NOWHERE
    text, before = agents.listing(agent, tools, system, owner)
    notes: tuple[str, ...] = ()
    if agent in agents.LEAVES_SYSTEM and system and said(system):
        notes = (f"the agent_template {agent} writes the tools in place of the system text, which is dropped",)
    if before:
        if turns[0].merged or turns[0].slotted is not None:
            raise _unknown("the tools are written before the first message, although that is not a user message")
        turns[0].texts[0] = (Run(before, turns[0].message, Part.INJECTED), *turns[0].texts[0])
    return text, notes


def _rounds(
    turns: list[SwiftTurn], template: Template, system: Text | None, prefix: str, notes: tuple[str, ...]
) -> RowRounds:
    """Questions and answers in turn; DroppedRow where they are not."""
    if turns and turns[0].role == "assistant":
        turns = [SwiftTurn("user", [()]), *turns]
    odd = len(turns) % 2 == 1
    if len(turns) + odd > 2 and template.chat_sep is None:
        turns = turns[-1:] if odd else turns[-2:]
        notes = (*notes, f"the template {template.name} supports one round: only the last one is used")
    if not turns:
        raise DroppedRow("the row has no messages (AssertionError)")
    rounds = tuple(zip_longest(turns[::2], turns[1::2]))
    for asked, answered in rounds:
        if asked.role not in ("user", "tool"):
            must = "a user or tool message must be (AssertionError)"
            raise DroppedRow(f"there is a message with the role {asked.role} where {must}")
        if answered is not None and answered.role != "assistant":
            raise DroppedRow(
                f"there is a message with the role {answered.role} where an answer must be (AssertionError)"
            )
        if asked.role == "tool" and asked.slotted is None:
            raise DroppedRow("there is a tool result where the template writes none (AssertionError)")
        if answered is not None:
            answered.loss, answered.scale = (_each(answered, said) for said in (answered.loss, answered.scale))
    return RowRounds(rounds, system, prefix, _last_asked(turns), notes)


def _each(answered: SwiftTurn, given: list[Any] | None) -> list[Any]:
    """What is said of the loss of each text of an answer."""
    if given is None:
        return [None] * len(answered.texts)
    if not answered.merged and isinstance(given[0], list):
        if not given[0]:
            raise DroppedRow("the loss of a message is an empty list (IndexError)")
        return given[0][:1]
    return given
