"""Where a row begins, with one BOS where the model expects it, and where its answer does, in tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sftui.findings.checks import BY_PROMPT, LABELLED, SLOW, Fault, row_check
from sftui.findings.fixes import common_boundary, newer
from sftui.findings.look import RowLook, pieces_of, shown
from sftui.findings.model import Consequence, Severity
from sftui.findings.rule import GOOD, case, chat, fatal, major, minor
from sftui.findings.rules.template import boundary_merges
from sftui.findings.words import text_of
from sftui.model import Kind, Part, common_prefix
from sftui.text import visible_token
from sftui.tokens import prompt_text
from sftui.trainers.traits import Finds, Quirk

_TEXTS = ({"text": "<bos>Paris.<eos>"}, {"text": "Rome.<eos>"})

BOS001 = major(
    "double-bos",
    "the row begins with two BOS tokens",
    "The template writes BOS and the tokenizer adds another, because rendered text was tokenized with"
    " add_special_tokens=True. LLaMA-Factory and torchtune are not affected.",
    moves=("bos",),
    bad=case(GOOD, tokenizer="gemma", changes={"tokenize.add_special_tokens": True}),
    good=case(GOOD, tokenizer="gemma"),
    more=(case(*_TEXTS, tokenizer="gemma", changes={"tokenize.add_special_tokens": True}),),
)


BOS002 = major(
    "missing-bos",
    "the row does not begin with BOS, which this model expects",
    "BOS was stripped or never added. Without it Gemma's perplexity is a billion times higher; other models"
    " lose a little.",
    moves=("bos",),
    bad=case(GOOD, tokenizer="gemma", preset="manual-shift"),
    good=case(GOOD, tokenizer="gemma"),
    more=(case(*_TEXTS, tokenizer="gemma"),),
)


BOS003 = major(
    "bos-decided-by-first-row",
    "Unsloth decided about BOS from the first row, and this row differs",
    "Unsloth's text path turns off special tokens for the whole dataset if row 0 begins with BOS or the"
    " template contains the BOS text.",
    bad=case({"text": "<bos>Paris."}, {"text": "Rome."}, tokenizer="gemma", preset="unsloth@2026.10"),
    good=case(
        {"text": "Paris."}, {"text": "Rome."}, tokenizer="gemma", preset="unsloth@2026.10", facts={"chat_templates": {}}
    ),
)


@row_check(LABELLED, BOS001, BOS002, BOS003, recipe=lambda context: context.facts.bos_id is not None)
def bos_count(look: RowLook) -> Iterator[Fault]:
    """BOS001, BOS002 and BOS003."""
    bos, ids = look.facts.bos_id, look.tokens.input_ids
    if bos is None or not ids or look.labels.dropped is not None:
        return
    found = (ids[0] == bos) + (ids[0] == bos and len(ids) > 1 and ids[1] == bos)
    by_first_row = Quirk.BOS_BY_FIRST_ROW in look.context.traits.quirks and look.conversation.kind is Kind.TEXT
    what = "the row begins with two BOS tokens"
    if found == 2 and by_first_row:
        yield Fault(f"{what}: {look.context.traits.title} decided from the first row", tokens=(0, 2), rule=BOS003)
    elif found == 2:
        # Texts of one set may begin with BOS or not; a template prints it always, so there the tokenizer need not add
        # one.
        added = look.recipe.tokenize.add_special_tokens and look.chat
        change = ("tokenize.add_special_tokens", False) if added else ("tokenize.bos", "drop_second")
        yield Fault(what, tokens=(0, 2), changes=() if look.stored else [change], rule=BOS001)
    if found or not (why := expected_bos(look)):
        return
    sentence = f"the row does not begin with {look.facts.bos_token}, which {why}"
    if by_first_row:
        yield Fault(f"{sentence}: Unsloth decided from the first row", tokens=(0, 1), rule=BOS003)
        return
    stripped = look.recipe.tokenize.bos == "strip_text"
    changes: list[tuple[str, Any]] = [("tokenize.bos", "keep") if stripped else ("tokenize.add_special_tokens", True)]
    if not stripped and not look.chat and look.recipe.tokenize.bos == "keep":
        changes.append(("tokenize.bos", "drop_second"))  # for the texts of the set that begin with it
    yield Fault(
        sentence,
        tokens=(0, 4),
        changes=() if look.stored else changes,
        severity=Severity.ERROR if gemma_like(look) else None,
        rule=BOS002,
    )


def expected_bos(look: RowLook) -> str:
    """Why the model expects a BOS, or nothing: its template prints it, or its tokenizer adds it."""
    facts = look.facts
    if facts.bos_token is None:
        return ""
    if facts.adds_bos:
        return "the tokenizer adds to plain text"
    prints = look.chat and (look.context.plain or "").startswith(facts.bos_token)
    return "the template prints" if prints else ""


def gemma_like(look: RowLook) -> bool:
    """Gemma falls apart without BOS; other families lose a little."""
    tokenizer = look.context.tools.tokenizer
    return look.context.once(
        "gemma", lambda: tokenizer.token_id("<start_of_turn>") is not None and look.facts.bos_token == "<bos>"
    )


BND001 = major(
    "boundary-token-merged",
    "the last prompt token merges with the first answer token",
    "The prompt tokenized alone is not a prefix of the whole row, so a length-based mask drops the first answer token"
    " or trains a piece of the header. LLaMA-Factory encodes pieces separately and torchtune masks by"
    " message: neither is affected.",
    pairs="strip the beginning of both answers",
    moves=("edge",),
    bad=case(chat("hi", "\nHello.")),
)


_SAY, _PLAIN = {"prompt": "Say a", "completion": " word."}, {"data.strings": "plain"}

BND008 = major(
    "prompt-carries-eos",
    "the prompt tokenized alone ends with EOS",
    "The tokenizer adds EOS, so the prompt is one token too long and the first answer token is masked.",
    data="tokenize the prompt without EOS",
    moves=("edge", "appended"),
    bad=case(_SAY, changes={**_PLAIN, "tokenize.add_special_tokens": True}, tokenizer="adds-eos"),
    good=case(_SAY, changes=_PLAIN, tokenizer="adds-eos"),
)


@row_check(LABELLED, BND001, BND008, shape=lambda shape, _: shape.merged, masks=BY_PROMPT)
def merged(look: RowLook) -> Iterator[Fault]:
    """BND001 and BND008: the prompt's tokens are no prefix though its text is."""
    boundary, prompt_ids = look.inspection.boundary, look.tokens.prompt_ids
    if boundary is None or prompt_ids is None or boundary.clean:
        return
    at = boundary.common
    eos = look.facts.eos_id
    if eos is not None and prompt_ids[-1] == eos and at == len(prompt_ids) - 1:
        yield Fault(
            "the prompt tokenized alone ends with EOS, so the mask is one token too long",
            tokens=(at - 2, at + 2),
            changes=_without_added(look) if look.recipe.tokenize.add_special_tokens else (),
            rule=BND008,
        )
        return
    if look.rendered.prompt is None or not look.rendered.text.startswith(look.rendered.prompt):
        return  # TPL007
    if look.chat and boundary_merges(look.context):
        return  # BND002 tells it once
    if look.tokens.input_ids[: len(prompt_ids)] == prompt_ids:
        return  # the other side of a preference parts from its prompt earlier: that one merges, or PRF002 tells why

    def evidence() -> str:
        prompt = prompt_text(look.tokens, look.rendered, look.context.tools.tokenizer, look.recipe.tokenize)
        pairs = zip(prompt.surfaces[at : at + 4], prompt.pieces[at : at + 4])
        alone = "".join(f"[{visible_token(surface, piece)}]" for surface, piece in pairs)
        return f"{alone} ≠ {look.spelling.quote(at, at + 4)}"

    # A mask by common prefix loses no token; what a server gives the model as prompt still differs. Of a preference the
    # other side loses the end of its prompt to its answer, too.
    changes = common_boundary(look.context)
    yield Fault(
        f"prompt and answer merge at token {at}: the prompt alone has {boundary.prompt_length} tokens, {at} of them"
        " shared",
        evidence,
        tokens=(at - 1, at + 3),
        changes=changes,
        severity=None if changes or look.recipe.paired else Severity.INFO,
        rule=BND001,
    )


def _without_added(look: RowLook) -> list[tuple[str, Any]]:
    """No special tokens from the tokenizer, and the EOS that the whole row had from it appended."""
    eos = [("tokenize.append_eos", "if_missing_ids")] if look.recipe.tokenize.append_eos == "never" else []
    return [("tokenize.add_special_tokens", False), *eos]


def _by_markers(user: str, answer: str) -> dict[str, Any]:
    return {"mask.rule": "markers", "mask.instruction_marker": user, "mask.response_marker": answer}


_MERGING = (
    "{% for m in messages %}{% if m.role == 'user' %}{{ 'Q: ' + m.content + 'rom:' }}{% else %}"
    "{{ ' ' + m.content + '<|im_end|>' }}{% endif %}{% endfor %}"
)
"""Behind an `f` its marker begins inside of a word."""
_CHATML_MARKERS = _by_markers("<|im_start|>user\n", "<|im_start|>assistant\n")

BND004 = fatal(
    "response-marker-not-found",
    "the response marker is missing from the row's ids",
    "The marker is missing from the text or merges with neighbouring tokens, so no token of the row is trained.",
    data="search by characters instead of ids",
    leads_to=Consequence.UNTRAINED,
    bad=case(
        chat("hi", "Hello."),
        tokenizer="gemma",
        preset="unsloth@2026.10",
        changes={**_by_markers("<start_of_turn>user\n", "el\nHel"), "own.force_match": True},
    ),
)


BND005 = major(
    "marker-in-content",
    "a mask marker also appears inside a message",
    "The scan mistakes it for the start of a turn, so user text is trained or an answer is cut short.",
    data="remove the marker text from the data",
    repair=("strip-tokens",),
    bad=case(chat("say <|im_start|>assistant\nnow", "Hello."), preset="unsloth@2026.10", changes=_CHATML_MARKERS),
    good=case(GOOD, preset="unsloth@2026.10", changes=_CHATML_MARKERS),
)


BND011 = major(
    "marker-merged",
    "a mask marker merges with neighbouring text, so the scan misses it",
    "The scan looks for the marker's own ids. Where a token spans an edge of the marker, the ids differ: an"
    " answer after it is not trained, a question after it is.",
    data="leave both markers unset, or choose markers that begin and end with a control token",
    bad=case(
        chat("f", "Yes.", "hi?", "No."),
        preset="unsloth@2026.10",
        template=_MERGING,
        changes={**_by_markers("Q:", "rom:"), "own.force_match": True},
    ),
    good=case(GOOD, preset="unsloth@2026.10", changes=_CHATML_MARKERS),
)


@row_check(LABELLED, BND004, BND005, BND011, masks=("markers",))
def markers(look: RowLook) -> Iterator[Fault]:
    """BND004, BND005 and BND011, for masks that scan for a response marker."""
    found = getattr(look.context.tools.survey, "markers", None)
    response = str(look.recipe.mask.response_marker or getattr(found, "response_text", ""))
    instruction = str(look.recipe.mask.instruction_marker or getattr(found, "instruction_text", ""))
    text = look.rendered.text
    if response and not look.mask.trained and response in text:
        at = text.rindex(response) if look.recipe.mask.turns == "last" else text.index(response)
        where = look.tokens_over(at, at + len(response))
        if where and not any(start <= where[0] and where[-1] + 1 < end for start, end in look.labels.kept):
            return  # it is cut off with all behind it: TRU001
        ids = look.tokens.input_ids[where[0] : where[-1] + 1] if where else ()
        what = f"the response marker is in the text, but it is encoded to different ids here: {list(ids)}"
        yield Fault(what, tokens=(where[0], where[-1] + 1) if where else None, rule=BND004)
        return
    if response and not look.mask.trained and response not in text and look.recipe.mask.response_marker:
        what, bare = f"the response marker {shown(response, 40)} is missing from the text of this row", response.strip()
        if bare and bare in text:
            what = f"{what}; {shown(bare, 40)} appears without its whitespace"
        yield Fault(what, shown(text[-80:]), rule=BND004)
        return
    if not look.known or not look.chat:
        return
    yield from _merged_markers(look, response, instruction)
    for marker in (response, instruction):
        bare = marker.strip()
        if not bare:
            continue
        for span in look.rendered.spans:
            if span.part is Part.CONTENT and span.message >= 0:
                at = text.find(bare, span.start, span.end)
                if at >= 0:
                    what = (
                        f"message {span.message} contains the marker {shown(bare, 40)}, which the mask mistakes for"
                        " the start of a turn"
                    )
                    yield Fault(what, message=span.message, span=(at, at + len(bare)), rule=BND005)


_NEAR = 16
"""Characters that a template may write between a marker and what is said."""


def _merged_markers(look: RowLook, response: str, instruction: str) -> Iterator[Fault]:
    """BND011: the marker of a turn stands before it, but a token goes over an edge of it, so the scan misses it."""
    text, starts, ends = look.rendered.text, look.tokens.starts, look.tokens.ends
    begins = {span.message: span.start for span in reversed(look.rendered.spans) if span.part is Part.CONTENT}
    for turn in look.answers[-1:] if look.recipe.mask.turns == "last" else look.turns:
        answer = turn.role == "assistant"
        marker = response if answer else instruction if turn.role == "user" else ""
        if not marker or not turn.has_content or look.trains(turn.content) is answer:
            continue
        begin = begins[turn.message]
        at = text.rfind(marker, max(0, begin - len(marker) - _NEAR), begin)
        near = range(max(0, turn.content[0] - len(marker) - _NEAR), turn.content[0] + 1) if at >= 0 else ()
        where = [i for i in near if starts[i] < at + len(marker) and ends[i] > at]
        if not where or not any(start <= where[0] and turn.content[0] < end for start, end in look.labels.kept):
            continue  # what is cut off is not trained in any case
        if starts[where[0]] < at or ends[where[-1]] > at + len(marker):
            edge = where[0] if starts[where[0]] < at else where[-1]
            outcome = "is not trained" if answer else "is trained"
            why = f"its marker {shown(marker, 40)} merges into the token {look.spelling.token(edge)}"
            yield Fault(
                f"message {turn.message} {outcome}: {why}",
                message=turn.message,
                tokens=(where[0], where[-1] + 1),
                rule=BND011,
            )


BND009 = major(
    "axolotl-dummy-edge",
    "Axolotl masks the edge of this answer",
    "Before 0.19 its turn locator compares the tokens of the turn with `[[dummy_message]]`; tokens that both"
    " share at an edge count as template. Answers that begin with [[ or end with ]] lose them.",
    moves=("brackets",),
    bad=case(chat("list?", "[[1, 2], [3, 4]]"), preset="axolotl@0.18"),
    good=case(chat("list?", "[[1, 2], [3, 4]]"), preset="axolotl@0.19"),
)


@row_check(LABELLED, BND009, recipe=lambda context: context.traits.finds is Finds.DUMMY, masks=("turn_content",))
def dummy_edges(look: RowLook) -> Iterator[Fault]:
    """BND009: the locator took brackets of the answer for its dummy's."""
    for turn in look.answers:
        content = text_of(look.messages[turn.message])
        if not (content.startswith("[") or content.endswith("]")):
            continue
        first, last = turn.content[0], turn.content[1] - 1
        lost = [i for i in (first, last) if first <= last and not look.mask.drawn[i]]
        if lost and any(look.mask.drawn[first : last + 1]):
            yield Fault(
                f"the {'first' if lost[0] == first else 'last'} token of message {turn.message} is masked:"
                f" {look.context.traits.title} mistakes it for its own marker",
                message=turn.message,
                tokens=(max(lost[0] - 2, 0), lost[0] + 3),
                changes=newer(look.context),
            )


BND003 = minor(
    "pieces-differ-from-whole",
    "pieces encoded separately get different ids from the whole text",
    "The training ids then differ from what a server sends.",
    data="match what the server does",
    bad=case(
        {"instruction": "Say a", "output": "nswer"},
        preset="llamafactory@0.9",
        changes={"render.template": "llamafactory/empty"},
    ),
)


@row_check(SLOW, BND003, shape=lambda shape, _: shape.pieces)
def pieces(look: RowLook) -> Iterator[Fault]:
    """BND003: the row's pieces, encoded alone, differ from the text encoded as a whole."""
    parts = look.rendered.pieces
    if not parts or look.stored or any(piece.ids is not None and not piece.text for piece in parts):
        return
    reader = look.context.tools.reader
    whole = reader.ids(look.rendered.text)
    ids = look.tokens.input_ids
    shift = 1 if ids and ids[0] == look.facts.bos_id and whole[:1] != ids[:1] else 0
    ids = ids[shift:]
    at = common_prefix(ids, whole)
    # Where the row is cut its last token may be another one: torchtune ends every cut row with EOS.
    kept = look.labels.kept
    end = kept[0][1] if len(kept) == 1 and kept[0][0] == 0 else len(look.tokens)
    reach = end - shift - 1 if look.cut else len(ids)
    if at < min(reach, len(whole)):
        yield Fault(
            f"encoded as a whole, the text has {len(whole)} tokens, in parts {len(ids)}; they differ from token"
            f" {at + shift} on",
            f"{look.spelling.quote(at + shift, at + shift + 3)} ≠ {pieces_of(whole[at : at + 3], reader)}",
            tokens=(at + shift - 2, at + shift + 3),
        )
