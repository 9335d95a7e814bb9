"""What the length limit takes from a row."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sftui.findings.checks import LABELLED, Fault, row_check
from sftui.findings.look import RowLook
from sftui.findings.model import Consequence, Severity
from sftui.findings.rule import DROP, GOOD, LONG, case, chat, fatal, loud, major
from sftui.findings.rules.eos import is_prose
from sftui.findings.rules.marks import media_ids
from sftui.model import Reason
from sftui.runs import covered, together, within
from sftui.trainers.traits import Quirk

TRU001 = fatal(
    "answer-cut-off",
    "the whole answer is cut off",
    "The prompt alone fills the length limit, so nothing is left to train.",
    repair=(DROP,),
    leads_to=Consequence.UNTRAINED,
    moves=("cut",),
    bad=case(LONG, changes={"length.max": 20}),
    good=case(LONG, changes={"length.max": 4000}),
    more=(
        case(LONG, preset="torchtune@0.7", changes={"length.max": 20}),
        case(LONG, preset="unsloth@2026.10", changes={"length.max": 20, "mask.rule": "markers"}),
    ),
)


TRU002 = major(
    "stop-token-cut",
    "the answer is cut before its end",
    "What remains is trained without a stop token. Many such rows teach the model not to stop.",
    repair=(DROP,),
    aliases=("EOS005", "GEN010"),
    leads_to=Consequence.UNSTOPPED,
    moves=("cut",),
    bad=case(LONG, changes={"length.max": 150}),
    good=case(LONG, changes={"length.max": 4000}),
    more=(case(LONG, preset="unsloth@2026.10", changes={"length.max": 150}),),
)


TRU003 = fatal(
    "header-cut",
    "the cut removes the end of the prompt and the answer's header",
    "LLaMA-Factory cuts prompt and answer in proportion, each at its end, so the answer follows half a question.",
    repair=(DROP,),
    leads_to=Consequence.LOST,
    moves=("cut",),
    bad=case(LONG, preset="llamafactory@0.9", changes={"length.max": 100, "render.template": "llamafactory/qwen"}),
    good=case(LONG, preset="llamafactory@0.9", changes={"render.template": "llamafactory/qwen"}),
)


TRU004 = major(
    "cut-from-the-left",
    "the beginning of the row is cut off",
    "BOS, system message and tools are lost.",
    data="cut on the right, or drop long rows",
    moves=("cut",),
    bad=case(LONG, changes={"length.max": 150, "length.over": "cut_left"}),
    good=case(LONG, changes={"length.max": 4000, "length.over": "cut_left"}),
    more=(case(LONG, preset="torchtune@0.7", changes={"length.max": 150, "length.over": "cut_left"}),),
)


_SAMPLED = {
    "messages": [
        {"role": role, "content": [{"type": "text", "value": text}], "loss_weight": float(role == "assistant")}
        for role, text in (("user", "hi"), ("assistant", "Hello."), ("user", "Say it. " * 30), ("assistant", "It."))
    ]
}
TRU010 = major(
    "sample-dropped",
    "the answer of a later turn is dropped",
    "It is beyond the length limit, or the trainer makes one sample per answer and drops those whose prompt alone"
    " reaches the limit: the later turns of long conversations are never trained.",
    repair=(DROP,),
    leads_to=Consequence.LOST,
    moves=("cut",),
    bad=case(_SAMPLED, preset="llamafactory-v1@0.9.6", changes={"length.max": 60}),
    good=case(_SAMPLED, preset="llamafactory-v1@0.9.6"),
)


@row_check(LABELLED, TRU001, TRU002, TRU003, TRU004, TRU010, of=lambda shape: not shape.whole, several=True)
def cut_row(look: RowLook) -> Iterator[Fault]:
    """TRU001 to TRU004, TRU010."""
    kept, n = look.labels.kept, len(look.tokens)
    drawn = look.mask.drawn
    changes = _longer(look)
    first = look.mask.runs[0][0] if look.mask.trained else answer_cut(look)
    answers = [turn.content[0] for turn in look.answers if turn.has_content and drawn[turn.content[0]]]
    lost = sum(begin >= kept[0][1] for begin in answers) if len(kept) == 1 and not look.inspection.more else 0
    # All of them may stand behind the cut; a mask that trains prompts too hides that.
    unanswered = 0 < lost == len(answers) and not kept[0][0]
    first = answers[0] if unanswered else first
    if first is not None and (unanswered or not any(any(drawn[start:end]) for start, end in kept)):
        sentence = f"the answer begins at token {first} but the row is cut at {covered(kept)}"
        yield Fault(sentence, tokens=(first - 3, first + 5), changes=changes, rule=TRU001)
        return
    if look.labels.dropped is not None:
        return
    lost_header = None if len(kept) == 1 and not kept[0][0] else _lost_header(look)
    if lost_header is not None:
        sentence = f"the cut removes the header of message {lost_header[0]} but keeps its answer"
        yield Fault(sentence, message=lost_header[0], tokens=lost_header[1], changes=changes, rule=TRU003)
    gone = next((sample for sample in look.tokens.samples if all(start != sample.start for start, _ in kept)), None)
    if gone is not None:
        begins = gone.boundary.prompt_length
        yield Fault(
            f"a sample's answer begins at token {begins}, beyond length.max {look.recipe.length.max}: the sample is"
            " dropped",
            tokens=(gone.start + begins - 3, gone.start + begins + 5),
            changes=changes,
            rule=TRU010,
        )
    elif 0 < lost < len(answers):
        at = kept[0][1]
        what = f"the cut at {at:,} removes {lost} of the {len(answers)} trained answers"
        yield Fault(what, tokens=(at - 4, at + 4), severity=Severity.INFO, changes=changes, rule=TRU010)
    if gone is None and kept and kept[0][0] > 0:
        yield Fault(f"the first {kept[0][0]} tokens are cut off", tokens=(0, kept[0][0]), changes=changes, rule=TRU004)
    for start, end in kept:
        if (
            end < n
            and end > start
            and drawn[end - 1]
            and (drawn[end] or _cut_inside(look, end))
            and look.tokens.input_ids[end - 1] not in look.row_stops
            and not _continues(look, end)
        ):
            what, severity = ("text", Severity.INFO) if is_prose(look) else ("answer", None)
            yield Fault(
                partial(_unfinished, look, what, end),
                tokens=(max(start, end - 4), end + 2),
                changes=changes,
                severity=severity,
                rule=TRU002,
            )
            break


def _unfinished(look: RowLook, what: str, end: int) -> str:
    """How much of a text is cut off at a token."""
    total = next(b for a, b in look.mask.runs if a < end <= b)
    for _, stop, reason, message in together(look.labels.reasons, look.tokens.messages):
        if stop > total and (reason is not Reason.TRUNCATED or message != look.tokens.messages[end]):
            break
        total = max(total, stop)
    noun = "token" if total - end == 1 else "tokens"
    return f"the {what} is cut {total - end:,} {noun} before its end, without a stop token"


def answer_cut(look: RowLook) -> int | None:
    """Where the first answer begins, if all of it is cut off by a trainer that draws the mask after the cut."""
    turn = next((turn for turn in look.answers if turn.has_content), None)
    return turn.content[0] if turn is not None and look.labels.reasons[turn.content[0]] is Reason.TRUNCATED else None


def _cut_inside(look: RowLook, end: int) -> bool:
    """Whether what is cut off is of the same message, for trainers that draw the mask after the cut (Unsloth)."""
    return look.labels.reasons[end] is Reason.TRUNCATED and look.tokens.messages[end] == look.tokens.messages[end - 1]


_IMAGES = chat("what? " * 20 + "<image>" * 5, "A cat.")

TRU007 = loud(
    "media-placeholder-cut",
    "media placeholders are cut off",
    "The number of placeholders no longer matches the number of images.",
    data="raise the length limit",
    moves=("cut",),
    bad=case(_IMAGES, tokenizer="media", changes={"length.max": 20}),
    good=case(chat("<image> what?", "A cat."), tokenizer="media"),
    more=(case(_IMAGES, tokenizer="media", preset="torchtune@0.7", changes={"length.max": 20}),),
)


@row_check(LABELLED, TRU007, shape=lambda shape, _: not shape.whole, row=lambda look: _may_hold_media(look))
def cut_media(look: RowLook) -> Iterator[Fault]:
    """TRU007: placeholders before and after the cut."""
    kept, media = look.labels.kept, media_ids(look.context)
    if media and look.cut:
        ids, where = look.tokens.ids, look.spelling.special
        if not look.context.once("media are special", lambda: media <= look.context.tools.tokenizer.special_ids):
            where = tuple(range(len(ids)))
        before = sum(ids[at] in media for at in where)
        after = sum(ids[at] in media for at in within(where, kept))
        if after < before:
            yield Fault(f"{before - after} of {before} media placeholders are cut off", "", changes=_longer(look))


def _may_hold_media(look: RowLook) -> bool:
    """Whether there may be placeholders: where tokens are the text, cut, they stand there in writing."""
    context, text = look.context, look.rendered.text
    pieces = context.once("media pieces", lambda: list(map(context.tools.tokenizer.piece, media_ids(context))))
    return not look.spelling.cut_out or any([piece in text for piece in pieces])


def _continues(look: RowLook, end: int) -> bool:
    """Whether the trainer splits the row there, and the next part goes on."""
    split = bool(look.inspection.more) and not look.tokens.samples
    return split or any(start == end for start, _ in look.labels.kept)


def _lost_header(look: RowLook) -> tuple[int, tuple[int, int]] | None:
    def is_kept(i: int) -> bool:
        return any(start <= i < end for start, end in look.labels.kept)

    for turn in look.answers:
        if (
            turn.header[1] > turn.header[0]
            and turn.has_content
            and not is_kept(turn.header[1] - 1)
            and is_kept(turn.content[0])
            and look.mask.drawn[turn.content[0]]
        ):
            return turn.message, (max(0, turn.header[0] - 2), turn.content[0] + 2)
    return None


TRU006 = major(
    "row-dropped",
    "the trainer drops this row",
    "It never reaches the model; most trainers do not report it.",
    data="repair the row",
    repair=(DROP,),
    leads_to=Consequence.DROPPED,
    moves=("cut",),
    bad=case(LONG, preset="axolotl@0.19", changes={"length.max": 50}),
    good=case(GOOD, preset="axolotl@0.19"),
)


@row_check(LABELLED, TRU006, shape=lambda shape, _: shape.dropped)
def dropped(look: RowLook) -> Iterator[Fault]:
    why = look.labels.dropped
    if why is not None:
        over = look.recipe.length.max is not None and len(look.tokens) > look.recipe.length.max
        yield Fault(f"the row is dropped: {why}", "", changes=_longer(look) if over else ())


TRU009 = major(
    "longer-than-the-model",
    "the row is longer than the model's own limit",
    "No length limit is set, and the row exceeds model_max_length: memory runs out, or the model sees positions"
    " it was never trained on.",
    repair=(DROP,),
    moves=("over",),
    bad=case(LONG, facts={"model_max_length": 150}),
    good=case(LONG),
)


@row_check(
    LABELLED,
    TRU009,
    recipe=lambda context: context.facts.model_max_length is not None and context.recipe.length.max is None,
    row=lambda look: len(look.tokens) > (look.facts.model_max_length or 0),
)
def over_model(look: RowLook) -> Iterator[Fault]:
    """TRU009: longer than the model's own limit, and nothing cuts it."""
    limit = look.facts.model_max_length
    if limit is not None and look.labels.dropped is None and len(look.tokens) > limit:
        what = f"the row has {len(look.tokens):,} tokens, the model accepts {limit:,}, and no length limit is set"
        yield Fault(what, tokens=(limit - 3, limit + 3), changes=[("length.max", limit)])


def _longer(look: RowLook) -> list[tuple[str, int | None]]:
    """The limit that takes nothing from this row; none where having one masks the last token (EOS006)."""
    unlimited = Quirk.MASKS_END in look.context.traits.quirks and look.recipe.pack.strategy == "none"
    return [("length.max", None if unlimited else round_up(len(look.tokens)))]


def round_up(count: int) -> int:
    """The first of 512, 1024, 2048 … that `count` tokens fit in."""
    size = 512
    while size < count:
        size *= 2
    return size
