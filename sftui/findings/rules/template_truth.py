"""The template that a trainer brings next to the tokenizer's own, on the rows themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sftui.errors import SftuiError
from sftui.findings.checks import CHATS, LABELLED, Fault, row_check
from sftui.findings.context import Context
from sftui.findings.fixes import fix_of
from sftui.findings.look import RowLook, quoted, shown
from sftui.findings.model import Consequence, Fix, Severity
from sftui.findings.rule import case, fatal
from sftui.findings.rules.template import absent_words
from sftui.model import NOWHERE, Conversation, Kind, Message, Part, RenderedText
from sftui.recipe import Render
from sftui.templates import choose_template, compile_template, render
from sftui.templates.apart import Distance, RenderDifference, parted
from sftui.trainers import trainer_named
from sftui.trainers.own_config import key_of

if TYPE_CHECKING:
    from sftui.tokens import LoadedTokenizer

_SHAREGPT = {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "Hello."}]}
_MOST_SHOWN = 60
_THOUGHT = "</think>"
MOST_SIGNATURES = 300
"""Of so many kinds of rows the first is compared: a hostile set has a new kind in every row."""

TPL016 = fatal(
    "template-of-another-family",
    "the trainer's template is not the tokenizer's own",
    "The trainer brings a template of its own, and around the turns it writes other words than the tokenizer's chat"
    " template does: what is trained is not what a server asks for. Where only white space, an end of text or the"
    " tools differ it is a warning; a default system text, which families add on purpose, is an information.",
    data="use the tokenizer's own template",
    share=True,
    moves=("frame",),
    leads_to=Consequence.UNSERVED,
    bad=case(_SHAREGPT, preset="llamafactory@0.9", changes={"render.template": "llamafactory/llama3"}),
    good=case(_SHAREGPT, preset="llamafactory@0.9", changes={"render.template": "llamafactory/chatml"}),
)


def _brings_its_own(context: Context) -> bool:
    """Whether the trainer renders with a template of its own, and the tokenizer has one as well."""
    return trainer_named(context.recipe.preset).brings_template(context.recipe) and bool(context.facts.chat_templates)


@row_check(LABELLED, TPL016, shape=lambda shape: not shape.dropped, recipe=_brings_its_own, kinds=CHATS)
def other_family(look: RowLook) -> Iterator[Fault]:
    """TPL016: found once for all rows with the same roles, calls, tools and thoughts."""
    if look.labels.dropped is not None:
        return
    compared: dict[tuple[object, ...], SignatureFault | None] = look.context.once("beside", dict)
    shape = signature(look)
    if shape not in compared and len(compared) < MOST_SIGNATURES:
        before = [one.fits for one in compared.values() if one is not None and one.fits is not None]
        compared[shape] = _compared(look, before)
    found = compared.get(shape)
    if found is not None:
        yield found.fault_in(look)


def _fix(context: Context, fits: str | None, title: str) -> Fix | None:
    made = fix_of(context, TPL016, [("render.template", fits)] if fits else [], title)
    if made is None or not made.changes or fits is None:
        return made
    key = key_of(context.recipe.preset, "render.template")
    return replace(made, trainer_keys={**made.trainer_keys, context.trainer: f"{key}: {fits.partition('/')[2]}"})


_SAID: Mapping[Distance, tuple[str, Severity | None, str]] = {
    Distance.FAMILY: ("the trainer's template writes other words than the tokenizer's own", None, ""),
    Distance.FRAME: ("the trainer's template writes otherwise than the tokenizer's own", Severity.WARNING, ""),
    Distance.THOUGHT: (
        "of the trainer's template and the tokenizer's own one writes an empty thought",
        Severity.WARNING,
        "",
    ),
    Distance.OPENING: (
        "the trainer's template begins or ends rows otherwise than the tokenizer's own",
        Severity.INFO,
        "serve with the same beginning: a system message, or the template that was trained",
    ),
    Distance.CONTENT: (
        "the trainer's template writes a content otherwise than the tokenizer's own",
        Severity.INFO,
        "serve with the template that was trained, or write contents as both leave them",
    ),
    Distance.IDS: (
        "the trainer's template and the tokenizer's own write the same text, of which the trainer makes other ids",
        Severity.INFO,
        "begin and end contents without white space: the trainer encodes them apart from what stands around",
    ),
}


def _split(context: Context, found: RenderDifference) -> str:
    """Which control words of another family the tokenizer cuts into pieces."""
    absent = absent_words(found.ours, context.tools.untouched) if found.apart is Distance.FAMILY else []
    return f"; {', '.join(absent)} {'is' if len(absent) == 1 else 'are'} no token of it" if absent else ""


def signature(look: RowLook) -> tuple[object, ...]:
    """What decides how a row is rendered, whatever its texts say."""
    messages = look.messages
    return (
        look.roles,
        look.read.manner.edged,
        bool(look.conversation.tools),
        tuple([bool(message.data.get("tool_calls")) for message in messages]),
        tuple([_THOUGHT in str(message.data.get("content")) for message in messages])
        if _THOUGHT in look.spoken
        else (),
    )


@dataclass(frozen=True, slots=True)
class SignatureFault:
    """What is wrong with all rows of a signature: the fault, between which messages, and `fits`: the trainer's template
    that renders as the tokenizer's, where there is one."""

    fault: Fault
    difference: RenderDifference | None = None
    fits: str | None = None

    def fault_in(self, look: RowLook) -> Fault:
        """The fault at its place in one of the rows."""
        apart = self.difference
        if apart is None:
            return self.fault
        message = None if apart.after == NOWHERE else apart.after
        return replace(self.fault, message=message, tokens=place_of(look, apart))


def _compared(look: RowLook, before: Sequence[str]) -> SignatureFault | None:
    """The row next to the tokenizer's own rendering of it; None where they are the same, or nobody can tell."""
    context, conversation = look.context, look.conversation
    given, trainer = context.tools.untouched, trainer_named(context.recipe.preset)
    chat = trainer.as_chat(conversation, context.recipe, context.tools) if _brings_its_own(context) else None
    if chat is None:
        return None
    messages, tools, thought = chat
    facts = given.facts
    roles = [str(one.get("role")) for one in messages]
    calls = frozenset(number for number, message in enumerate(messages) if message.get("tool_calls"))
    unsaid = [token for token in (facts.bos_token, facts.eos_token) if token]
    theirs = _own(context, given, messages, tools)
    if theirs is None and len(messages) > 1 and roles[0] == "system":  # some families refuse it
        rest = _own(context, given, messages[1:], tools)
        theirs = None if rest is None else moved(rest, 1)
    if theirs is None:
        return None
    whole = says_all(theirs, messages)  # else only its family is reported: what it leaves out, other findings say
    found = parted(look.rendered, theirs, roles, unsaid=unsaid, thought=thought, calls=calls, tools=bool(tools))
    if found is None and look.rendered.text == theirs.text:
        found = _encoded(look, given)
    if found is None or not (whole or found.apart is Distance.FAMILY):
        return None
    thinks = _THOUGHT in choose_template(facts.chat_templates, tools)[1]
    far = found.apart >= Distance.THOUGHT and whole
    fits = trainer.fitting(conversation, theirs.text, context.recipe, context.tools, before) if far else None
    what, severity, title = _SAID[found.apart]
    if found.apart is Distance.THOUGHT and thinks:
        severity = Severity.INFO  # a family that thinks writes empty thoughts in several ways
    sentence = f"{what}{place_words(look, found)}{_split(context, found)}"
    evidence = f"{written(found.ours)} ≠ {written(found.theirs)}"
    return SignatureFault(Fault(sentence, evidence, severity, fix=_fix(context, fits, title)), found, fits)


def _encoded(look: RowLook, tokenizer: LoadedTokenizer) -> RenderDifference | None:
    """Where the ids part though the text is the same: the trainer encodes it piece by piece. What it appends is left
    out."""
    try:
        own, ids = tokenizer.encode(look.rendered.text).ids, look.tokens.input_ids
    except SftuiError:
        return None
    at = next((i for i, (one, other) in enumerate(zip(ids, own)) if one != other), None)
    if at is None:
        return None
    theirs = quoted(own[at : at + 3], tokenizer)
    return RenderDifference(Distance.IDS, NOWHERE, NOWHERE, look.spelling.quote(at, at + 3), theirs)


def written_whole(
    messages: Sequence[Mapping[str, Any]], write: Callable[[tuple[Message, ...]], RenderedText]
) -> RenderedText | str:
    """What a template makes of messages, if it can be with all that they say; why it refuses them."""
    first, why = None, ""
    for some in (messages, [in_parts(one) for one in messages]):  # templates of models that see take parts alone
        try:
            made = write(tuple(Message(dict(one), "") for one in some))
        except SftuiError as error:
            why = why or str(error)
            continue
        if says_all(made, messages):
            return made
        first = first or made
    return first or why


def moved(rendered: RenderedText, by: int) -> RenderedText:
    """The rendering of messages, of which each is counted so many on."""
    spans = (span._replace(message=span.message + by) for span in rendered.spans if span.message != NOWHERE)
    return replace(rendered, spans=tuple(spans)) if by else rendered


def _own(
    context: Context, tokenizer: LoadedTokenizer, messages: Sequence[Mapping[str, Any]], tools: Any
) -> RenderedText | None:
    """What the tokenizer's own template makes of messages; None where it refuses them."""
    facts = tokenizer.facts

    def write(some: tuple[Message, ...]) -> RenderedText:
        name, source = choose_template(facts.chat_templates, tools)
        return render(
            Conversation(Kind.CHAT, "messages", some, tools=tools),
            context.once(("own", name), lambda: compile_template(source, f"{facts.name} ({name})")),
            special_tokens=facts.template_tokens,
            options=Render(kwargs=context.template_kwargs),
            prompt_messages=None,
        )

    made = written_whole(messages, write)
    return None if isinstance(made, str) else made


def in_parts(message: Mapping[str, Any]) -> Mapping[str, Any]:
    content = message.get("content")
    return {**message, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else message


def says_all(rendered: RenderedText, messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the rendering has a content for each message that says something."""
    there = {span.message for span in rendered.spans if span.part is Part.CONTENT}
    return all(number in there for number, one in enumerate(messages) if one.get("content"))


def place_words(look: RowLook, found: RenderDifference) -> str:
    if found.before == found.after == NOWHERE:
        return "" if found.apart is Distance.IDS else " in what messages say"
    if found.before == NOWHERE:
        return f" before message {found.after} ({look.roles[found.after]})"
    if found.after == NOWHERE:
        return f" behind message {found.before} ({look.roles[found.before]})"
    return f" between message {found.before} ({look.roles[found.before]}) and {found.after} ({look.roles[found.after]})"


def place_of(look: RowLook, found: RenderDifference) -> tuple[int, int] | None:
    """The tokens of this row between the two messages, those around it where there are none."""
    start, end = 0, len(look.tokens)
    if found.before == found.after == NOWHERE:
        return None
    for begin, until, message, part in look.stretches:
        if part is Part.CONTENT and message == found.before != NOWHERE:
            start = until
        if part is Part.CONTENT and message == found.after != NOWHERE:
            end = min(end, begin)
    return (start, end) if start < end else (max(0, start - 1), min(start + 1, len(look.tokens)))


def written(text: str) -> str:
    return (
        shown(text if len(text) <= _MOST_SHOWN else "…" + text[-_MOST_SHOWN:], _MOST_SHOWN + 1) if text else "nothing"
    )
