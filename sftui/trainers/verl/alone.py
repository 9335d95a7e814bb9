"""Each message of a row rendered alone, as MultiTurnSFTDataset puts rows together.

Source: verl 0.9.1, utils/tokenizer/chat_template.py (extract_system_prompt_and_generation, apply_chat_template) and
utils/dataset/multiturn_sft_dataset.py (_process_single_message, sanity_check). How many tokens the template puts before
every message, and before every answer, is measured once, on an empty message of the user's and on two of them, with
apply_chat_template_kwargs alone. Where a template refuses a message alone it is rendered behind an empty one of the
user's, whose ids are cut off again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sftui.errors import SftuiError, TemplateError
from sftui.model import NOWHERE, Conversation, Kind, Message, Part, Piece, Problem, RenderedText, Span
from sftui.recipe import Recipe, Render
from sftui.side_files import object_of
from sftui.templates import render as render_one
from sftui.tokens.shortcuts.beginnings import joints
from sftui.trainers.base import Toolbox, pick_template
from sftui.trainers.remembering import last_asked
from sftui.values import value_class

EMPTY = {"role": "user", "content": ""}
DUMMY = Message({"role": "user", "content": [{"type": "text", "text": ""}]})

_TOLD = object_of(Path(__file__).with_name("keys.json"))
GIVEN: frozenset[str] = frozenset(_TOLD["given arguments"].split())
"""Arguments that verl gives itself, to apply_chat_template or to what calls it: a second one stops it (TypeError)."""
ACTING: frozenset[str] = frozenset(_TOLD["acting arguments"].split())
"""Those that change text or ids and are no variables of the template."""


@dataclass(frozen=True, slots=True)
class TemplateFrame:
    """How many ids are cut off before messages (`before`, of the text `system` where that has as many), and how many
    of an answer are masked (`header`); `refused`: why verl stops before the first row."""

    before: int = 0
    system: str | None = ""
    header: int = 0
    joints: tuple[str, ...] = ()
    """The added tokens before which a text may be cut in two, with the same ids."""
    refused: Problem | None = None


@value_class
class MessagePieces(RenderedText):
    """A row as its messages alone, a piece each, with the text that the template gives for all of them at once; None
    where that has the same ids for certain: it is the same text, and each message begins with an added token."""

    whole: str | None = ""


def frame_of(recipe: Recipe, tools: Toolbox) -> TemplateFrame:
    """What verl measures of the template before it reads rows."""
    return tools.survey if isinstance(tools.survey, TemplateFrame) else measured(recipe, tools)


@last_asked
def measured(recipe: Recipe, tools: Toolbox) -> TemplateFrame:
    """The same, asked of the template."""
    refused = _no_variables(recipe.render)
    if refused is not None:
        return TemplateFrame(refused=refused)
    variables = {**tools.special_tokens, **recipe.render.kwargs}

    def text(count: int, prompt: bool) -> str:
        template = pick_template(Conversation(Kind.CHAT, "messages"), tools)
        return template.text([EMPTY] * count, add_generation_prompt=prompt, variables=variables)[0]

    try:
        one, two, asked = text(1, False), text(2, False), text(1, True)
        ids, ids_of_two, ids_asked = (tools.tokenizer.ids(some, False) for some in (one, two, asked))
    except SftuiError as error:
        what = "verl stops before the first row: the chat template cannot render two user messages in a row"
        why = f"it tests the template with them ({error.what}{f': {error.why}' if error.why else ''})"
        return TemplateFrame(
            refused=Problem(what, why, "use a template that accepts them, as model.custom_chat_template")
        )
    before = len(ids[: -(len(ids_of_two) - len(ids))])
    system = one[: -(len(two) - len(one))]
    clean = len(tools.tokenizer.ids(system, False)) == before
    return TemplateFrame(before, system if clean else None, len(ids_asked[len(ids) :]), (*joints(tools.tokenizer),))


def _no_variables(options: Render) -> Problem | None:
    """Why kwargs that are no variables of the template stop verl, or that sftui does not know what they do."""
    given = next((name for name in options.kwargs if name in GIVEN), None)
    if given is not None:
        return Problem(
            f"verl stops: render.kwargs contains `{given}`",
            "it already passes that to apply_chat_template (TypeError: got multiple values for keyword argument"
            f" '{given}')",
            "remove it from data.apply_chat_template_kwargs",
        )
    acting = next((name for name, value in options.kwargs.items() if name in ACTING and value), None)
    if acting is None:
        return None
    return Problem(
        f"sftui does not model `{acting}` in render.kwargs",
        "it is an argument of apply_chat_template, not a template variable",
        "remove it from data.apply_chat_template_kwargs",
    )


def apart(conversation: Conversation, recipe: Recipe, options: Render, tools: Toolbox, *, spans: bool) -> MessagePieces:
    """The row as its messages alone; TemplateError where verl stops at one, or at the whole."""
    frame = frame_of(recipe, tools)
    if frame.refused is not None:
        raise TemplateError(frame.refused.what, why=frame.refused.why, fix=frame.refused.fix)
    pieces: list[Piece] = []
    found: list[Span] = []
    notes: list[str] = []
    place, exact, joined = 0, True, True
    for number, message in enumerate(conversation.messages):
        cut, front = (frame.before, frame.system) if number and message.data["role"] != "system" else (0, "")
        one, behind = _alone(conversation, number, options, tools, spans)
        if behind is not None:
            front = behind.text if not cut else None
            cut += len(tools.tokenizer.ids(behind.text, False))
        border = _border(one.text, cut, front, tools)
        own, before = (one.text[border:], one.text[:border]) if border else (one.text, "")
        joins = own.startswith(frame.joints)
        if joins and before == front:  # it has the same ids without what stands before it
            before, cut = "", 0
        joined = joined and (joins or not number)
        pieces.append(Piece(own, number, Part.CONTENT, before=before, cut=cut))
        found += _moved(one.spans, border, place, number, 0 if behind is None else 1)
        place += len(own)
        exact = exact and one.exact
        notes += one.notes
    whole = _drawn(conversation, options, tools, False)
    text = "".join([piece.text for piece in pieces])
    return MessagePieces(
        text=text,
        spans=tuple(found),
        pieces=tuple(pieces),
        exact=exact,
        notes=tuple(dict.fromkeys(notes)),
        whole=None if joined and text == whole.text else whole.text,
    )


def _alone(
    conversation: Conversation, number: int, options: Render, tools: Toolbox, spans: bool
) -> tuple[RenderedText, RenderedText | None]:
    """A message alone; and where the template refuses it, the message behind an empty one and that one alone."""
    given = Conversation(
        Kind.CHAT,
        conversation.format,
        conversation.messages[number : number + 1],
        tools=None if number else conversation.tools,
        template_kwargs=conversation.template_kwargs,
    )

    try:
        return _drawn(given, options, tools, spans), None
    except TemplateError:
        before = _drawn(replace(given, messages=(DUMMY,)), options, tools, False)
        return _drawn(replace(given, messages=(DUMMY, *given.messages)), options, tools, spans), before


def _drawn(conversation: Conversation, options: Render, tools: Toolbox, spans: bool) -> RenderedText:
    return render_one(
        conversation,
        pick_template(conversation, tools),
        special_tokens=tools.special_tokens,
        options=options,
        prompt_messages=None,
        spans=spans,
    )


def _border(text: str, cut: int, front: str | None, tools: Toolbox) -> int:
    """Where in a text stands what is left of it without its first ids, which are those of `front` if it begins so."""
    if front is not None and text.startswith(front):
        return len(front)
    encoded = tools.tokenizer.encode(text, False)
    return next((start for start in encoded.starts[cut:] if start != NOWHERE), len(text))


def _moved(spans: tuple[Span, ...], border: int, place: int, number: int, own: int) -> list[Span]:
    """The spans of a text behind a border, in the text of the row; `own` is the number of the message in its own."""
    found: list[Span] = []
    for start, end, message, part in spans:
        if end > border:
            owner = number if message == own else NOWHERE
            found.append(Span(max(start - border, 0) + place, end - border + place, owner, part))
    return found


def token_parts(starts: tuple[int, ...], spans: tuple[Span, ...]) -> Iterator[tuple[int, Part]]:
    """The part of each token, of the span in which it begins; NOWHERE goes along with what is before it."""
    at = 0
    for start in starts:
        while start != NOWHERE and at < len(spans) - 1 and start >= spans[at].end:
            at += 1
        yield 1, spans[at].part
