"""Preferences row by row: sides that teach nothing, and what they teach besides the better answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from typing import Any

from sftui.findings.checks import PAIRED, Fault, row_check
from sftui.findings.fixes import newer
from sftui.findings.look import RowLook, shown
from sftui.findings.model import Consequence, Severity
from sftui.findings.rule import DROP, Case, fatal, major, minor
from sftui.findings.rules.truncation import round_up
from sftui.findings.rules.weights import finite
from sftui.findings.words import REASONING, text_of, thought_in
from sftui.model import SIDES, Kind, Message, Part, common_prefix
from sftui.runs import Flat, Ranges, cut, overlap
from sftui.text import many

_DPO = {"loss.objective": "dpo"}
_ASKED = ({"role": "user", "content": "What is the capital of France?"},)
_GOOD, _BAD = "Paris is the capital of France.", "I think that it is Lyon."
_CODE = "".join(f"The {word} of the town is open on day {day}. " for day, word in enumerate(("port", "gate") * 8))


def side(*turns: str) -> list[dict[str, Any]]:
    """Messages that begin with an answer."""
    return [{"role": ("assistant", "user")[at % 2], "content": turn} for at, turn in enumerate(turns)]


def pair(chosen: Any = _GOOD, rejected: Any = _BAD, **more: Any) -> dict[str, Any]:
    """A preference; texts become answers to a question."""
    sides = {name: side(one) if isinstance(one, str) else one for name, one in zip(SIDES, (chosen, rejected))}
    return {"prompt": list(_ASKED), **sides, **more}


def strings(prompt: str, chosen: str, rejected: str) -> dict[str, Any]:
    """A preference of texts."""
    return {"prompt": prompt, "chosen": chosen, "rejected": rejected}


def pairs(*rows: Any, preset: str = "", **changes: Any) -> Case:
    """Preferences under DPO, with what is changed of the recipe (`length_max`)."""
    named = {path.replace("_", ".", 1).replace("__", "_"): value for path, value in changes.items()}
    made = Case(list(rows), preset="trl@1.16", changes={**_DPO, **named})
    return replace(made, preset=preset) if preset else made


_RIGHT = pairs(pair(), pair("Paris.", "It is Lyon."))


def _both(look: RowLook) -> bool:
    return look.labels.dropped is None


def _taught(one: RowLook) -> Ranges:
    """What of a side decides its loss: the tokens that carry it, or all that lead to a score."""
    return ((0, len(one.tokens)),) if one.recipe.loss.objective == "reward" else one.mask.runs


def _answer(one: RowLook, kept: bool = False) -> Flat:
    """The ids of that, of all or of what is left of a side that is cut."""
    return cut(overlap(_taught(one), one.labels.kept) if kept else _taught(one), one.tokens.ids)


def _own(one: RowLook) -> tuple[Message, ...]:
    """The messages of a side behind the prompt."""
    return one.messages[one.conversation.prompt_messages or 0 :]


def _texts(one: RowLook) -> list[str]:
    """What a side says."""
    said = one.conversation.completion
    return [said] if said is not None else [text_of(message) for message in _own(one)]


PRF001 = major(
    "sides-equal",
    "the chosen and the rejected side are the same",
    "Both sides get the same probability or score, so their difference has no gradient: the row costs time and teaches"
    " nothing.",
    data="find the answer that the other one replaced",
    repair=(DROP,),
    inherent=True,
    bad=pairs(pair(_GOOD, _GOOD)),
    good=_RIGHT,
    more=(pairs(strings("Q: Where?\nA:", " Here.", " Here.")), pairs({"chosen": "same", "rejected": "same"})),
)


@row_check(PAIRED, PRF001, row=_both)
def same_sides(look: RowLook) -> Iterator[Fault]:
    """PRF001: equal by what is trained; where the seam ate what tells them apart it is PRF004's."""
    chosen, rejected = look.sides
    if _answer(chosen) == _answer(rejected) and not any(map(_lost, look.sides)):
        same = [message.data for message in _own(chosen)] == [message.data for message in _own(rejected)]
        alike, count = same and _texts(chosen) == _texts(rejected), many(len(_answer(chosen)), "token")
        what = "both sides are the same" if alike else "the sides say different things but are the same"
        title = "" if alike else "use a template that prints what tells the sides apart"
        where = (_taught(chosen)[0][0], _taught(chosen)[-1][1]) if _taught(chosen) else None
        yield Fault(f"{what} {count}", tokens=where, title=title)


PRF002 = fatal(
    "prompt-repeated",
    "a side repeats the prompt",
    "Both `prompt` and the side contain the question. The trainer joins the two, so the model reads the question twice"
    " and learns to write it: everything in a side is trained. A reward model scores it.",
    data="remove the column prompt if both sides contain all of it, or keep only the answers in the sides",
    repair=("split-prompt",),
    inherent=True,
    leads_to=Consequence.QUESTIONS,
    bad=pairs(pair([*_ASKED, *side(_GOOD)], [*_ASKED, *side(_BAD)])),
    good=pairs({"chosen": [*_ASKED, *side(_GOOD)], "rejected": [*_ASKED, *side(_BAD)]}),
    more=(
        pairs(pair(rejected=[*_ASKED, *side(_BAD)])),
        pairs(strings("Where is Paris?", "Where is Paris? In France.", "Where is Paris? In Rome.")),
    ),
)
_LEAST = 8
"""Characters of a prompt that two texts do not both begin with by chance."""


@row_check(PAIRED, PRF002, kinds=(Kind.CHAT, Kind.STRINGS))
def asked_again(look: RowLook) -> Iterator[Fault]:
    """PRF002, by messages and texts, since ids of rows that repeat it part early and late."""
    again = [(name, at) for name, one in zip(SIDES, look.sides) if (at := _again(one)) is not None]
    if len(again) < 1 + (look.conversation.kind is Kind.STRINGS):
        return
    name, at = again[0]
    which = "both sides begin" if len(again) > 1 else f"the {name} side begins"
    rejected = name == SIDES[1]
    turn = look.sides[rejected].turn_of.get(at)
    where = turn.content if turn is not None else None
    what = f"{which} with the question that `prompt` already ends with"
    said = None if where else shown(_texts(look.sides[rejected])[0])
    severity = None if look.messages else Severity.WARNING  # code may well repeat the text that it completes
    yield Fault(what, said, severity, message=at, tokens=where, rejected=rejected)


def _again(one: RowLook) -> int | None:
    """Which message in front of the first answer of a side is the prompt's last question; 1 for a text that begins with
    its prompt."""
    conversation, answering = one.conversation, one.context.traits.answering
    if conversation.completion is not None:
        prompt = (conversation.prompt or "").strip()
        return 1 if len(prompt) >= _LEAST and conversation.completion.lstrip().startswith(prompt) else None
    at = conversation.prompt_messages or 0
    asked = [(one.role, one.content) for one in conversation.messages[:at] if one.role not in {*answering, "tool"}]
    before = takewhile(lambda message: message.role not in answering, conversation.messages[at:])
    same = (at + n for n, message in enumerate(before) if asked and (message.role, message.content) == asked[-1])
    return next(same, None)


PRF003 = major(
    "turns-inside-a-side",
    "text of the user or of a tool is trained in a side",
    "Everything in a side is trained, whoever says it. If there is no column `prompt`, the sides begin at the first"
    " message that differs: where the histories differ, later questions are in the sides.",
    data="begin both sides with the same conversation, and end each with one answer",
    repair=(DROP,),
    inherent=True,
    leads_to=Consequence.QUESTIONS,
    bad=pairs(pair(side("Paris.", "Sure?", "Yes, it is."))),
    good=pairs({"chosen": [*_ASKED, *side("Hm.", "Well?", _GOOD)], "rejected": [*_ASKED, *side("Hm.", "Well?", _BAD)]}),
    more=(
        pairs({"chosen": [*_ASKED, *side("Hm.", "Well?", _GOOD)], "rejected": [*_ASKED, *side("Eh.", "Well?", _BAD)]}),
    ),
)


@row_check(PAIRED, PRF003, kinds=(Kind.CHAT,), row=_both)
def others_inside(look: RowLook) -> Iterator[Fault]:
    """PRF003; a question of the prompt is PRF002's."""
    answering = look.context.traits.answering
    found = [(name, one.shape.trained(Part.CONTENT, *{*one.roles} - answering)) for name, one in zip(SIDES, look.sides)]
    found = [(name, inside) for name, inside in found if inside]
    if not found or any(_again(one) is not None for one in look.sides):
        return
    name, inside = found[0]
    rejected, at = name == SIDES[1], look.conversation.prompt_messages or 0
    one = look.sides[rejected]
    roles = ", ".join(dict.fromkeys(shown(one.roles[number], 20) for number in inside))
    which = "both sides" if len(found) > 1 else f"the {name} side"
    parts = (
        "" if not at or "prompt" in look.context.detected.fields else f", since the sides differ from message {at} on"
    )
    yield Fault(
        f"{roles} text in {which} is trained{parts}",
        message=inside[0],
        tokens=one.turn_of[inside[0]].content if inside[0] in one.turn_of else None,
        rejected=rejected,
    )


PRF004 = fatal(
    "seam-loses-text",
    "text is lost where prompt and answer meet",
    "TRL before 1.15 removes as many tokens from each side as the prompt alone has, and puts the prompt's own tokens"
    " there. If a token spans the end of the prompt, text is lost or repeated: a one-word answer disappears.",
    data="move the space at the end of the prompt to the answers, and strip line breaks before them",
    leads_to=Consequence.GARBLED,
    moves=("row",),
    bad=pairs(strings("2+2 = ", "four", "five"), preset="trl@1.14"),
    good=pairs(strings("2+2 =", " four", " five"), preset="trl@1.14"),
    more=(pairs(pair(f"\n{_GOOD}"), preset="trl@1.14"),),
)


def _lost(one: RowLook) -> bool:
    """Whether what is put at the end of the prompt is other text than stands there."""
    if one.seam is None:
        return False
    at, until = one.seam
    ends = [end for end in one.tokens.ends[:at] if end >= 0]
    starts = [start for start in one.tokens.starts[until:] if start >= 0]
    text = one.rendered.text[max(ends, default=0) : min(starts, default=len(one.rendered.text))]
    return one.context.tools.tokenizer.spelling(tuple(one.tokens.ids[at:until])) != text.encode("utf-8", "replace")


@row_check(PAIRED, PRF004, recipe=lambda context: context.recipe.mask.boundary == "prompt_length", row=_both)
def seam(look: RowLook) -> Iterator[Fault]:
    """PRF004: a side whose text is not what its tokens spell at the seam."""
    for rejected, one in enumerate(look.sides):
        if one.seam is not None and _lost(one):
            at, until = one.seam
            gone = Part.CONTENT not in one.tokens.parts[until:]
            left = "nothing of the answer is left" if gone else "text there is lost or repeated"
            where = f"the prompt alone has {until} tokens, and the {SIDES[rejected]} side begins with {at} of them"
            yield Fault(
                f"{where}: {left}",
                tokens=(at - 2, until + 4),
                changes=newer(look.context),
                severity=None if gone else Severity.WARNING,
                rejected=bool(rejected),
            )


PRF005 = major(
    "one-side-ends",
    "the sides end differently",
    "One side has one stop token more, so the model learns to prefer stopping, or to avoid it. TRL appends EOS to texts"
    " that do not end with it: a text with a line break after its EOS gets a second one.",
    data="strip both sides, and remove the stop token from their texts",
    inherent=True,
    bad=pairs(strings("Q: Where?\nA:", " Here.<|im_end|>\n", " There.<|im_end|>")),
    good=pairs(strings("Q: Where?\nA:", " Here.<|im_end|>", " There.")),
)


@row_check(PAIRED, PRF005, row=_both)
def ends_apart(look: RowLook) -> Iterator[Fault]:
    """PRF005, by the stop tokens at the end, white space aside, before anything is cut."""
    counts = [_stops(one) for one in look.sides]
    if counts[0] != counts[1]:
        rejected = counts[1] > counts[0]
        number = ("no stop token", "one stop token", "two stop tokens")
        less, more = (number[min(one, 2)] for one in sorted(counts))
        n = len(look.sides[rejected].tokens)
        what = f"the {SIDES[rejected]} side ends with {more}, the other with {less}"
        yield Fault(what, tokens=(n - 4, n), rejected=rejected)


def _stops(one: RowLook) -> int:
    ids, count = one.tokens.ids, 0
    for at in range(len(ids) - 1, -1, -1):
        if ids[at] in one.row_stops:
            count += 1
        elif not one.spelling.blank(at):
            break
    return count


PRF006 = major(
    "one-side-cut",
    "the cut removes the end of one side, or the difference between the sides",
    "The side that is cut loses its stop token and the other keeps it, so length decides what the model prefers. Sides"
    " that differ only after the cut are equal, and the row teaches nothing.",
    data="raise the length limit",
    repair=(DROP,),
    moves=("cut",),
    bad=pairs(pair(_CODE), length_max=200),
    good=pairs(pair(_CODE)),
    more=(pairs(pair(f"{_CODE}Yes.", f"{_CODE}No."), length_max=200),),
)


@row_check(PAIRED, PRF006, row=lambda look: _both(look) and look.cut)
def cut_apart(look: RowLook) -> Iterator[Fault]:
    """PRF006; where both sides are cut and differ TRU002 says so of each."""
    chosen, rejected = look.sides
    other = not chosen.cut  # the rejected side is the one that is cut
    end = look.sides[other].labels.kept[-1][1]
    if _answer(chosen, kept=True) == _answer(rejected, kept=True) and _answer(chosen) != _answer(rejected):
        what = f"the sides differ only after the cut at {end:,}: what remains of them is the same"
        severity: Severity | None = Severity.ERROR
    elif chosen.cut != rejected.cut:
        what, severity = f"only the {SIDES[other]} side is cut: it ends without its stop token", None
    else:
        return
    longer = [("length.max", round_up(max(len(one.tokens) for one in look.sides)))]
    yield Fault(what, severity=severity, tokens=(end - 4, end + 2), changes=longer, rejected=other)


PRF007 = minor(
    "one-side-thinks",
    "only one side thinks, or calls a tool",
    "The model then learns whether to think or call at least as much as which answer is better. A template may write"
    " an empty think block into the other side, where it is trained.",
    data="keep the rows if that is what they teach, else drop them",
    share=True,
    inherent=True,
    bad=pairs(pair(f"<think>\nThey ask for a city.\n</think>\n\n{_GOOD}")),
    good=_RIGHT,
)


@row_check(PAIRED, PRF007, kinds=(Kind.CHAT, Kind.STRINGS))
def of_two_kinds(look: RowLook) -> Iterator[Fault]:
    """PRF007: by what the sides say that is in their text, and by their calls."""
    for does, holds in (("thinks before it answers", _thinks), ("calls a tool", _calls)):
        both = [holds(one) for one in look.sides]
        if both[0] != both[1]:
            name, other = SIDES[both[1]], look.sides[both[0]]
            empty = holds is _thinks and "</think>" in other.rendered.text[_begin(other) :]
            more = ", and the template writes an empty think block into the other" if empty else ""
            yield Fault(f"only the {name} side {does}{more}", "")


def _begin(one: RowLook) -> int:
    """Where the first trained token stands in the text."""
    return next((one.tokens.starts[start] for start, _ in _taught(one)), 0)


def _thinks(one: RowLook) -> bool:
    beside = [message.data.get(key) for message in _own(one) for key in REASONING]
    thoughts = [*beside, *map(thought_in, _texts(one))]
    return any(isinstance(said, str) and said.strip() and said.strip() in one.rendered.text for said in thoughts)


def _calls(one: RowLook) -> bool:
    return any(number >= (one.conversation.prompt_messages or 0) for number in one.calls)


PRF008 = minor(
    "sides-nearly-equal",
    "the sides differ in hardly any token",
    "The row teaches only the few tokens that differ, and DPO often lowers the probability of both sides if they are"
    " long and nearly the same. Fine if this difference is the point.",
    data="check that this difference is what the model should learn",
    inherent=True,
    bad=pairs(pair(f"{_CODE}Yes.", f"{_CODE}No.")),
    good=_RIGHT,
    more=(pairs(pair(_GOOD, f"{_GOOD} ")),),
)
_LONG, _FEW = 40, 0.05


@row_check(PAIRED, PRF008, kinds=(Kind.CHAT, Kind.STRINGS), row=_both)
def nearly_same(look: RowLook) -> Iterator[Fault]:
    """PRF008: one short stretch of long answers differs; a warning where it is white space around the answers."""
    a, b = map(_answer, look.sides)
    said = [list(map(str.strip, _texts(one))) for one in look.sides]
    if a == b or [message.role for message in _own(look.sides[0])] != [message.role for message in _own(look.sides[1])]:
        return
    if said[0] == said[1] and any(said[0]) and not any(one.calls or one.read.manner.reasoned for one in look.sides):
        yield Fault("the sides differ only in whitespace around the answer", severity=Severity.WARNING)
        return
    same = common_prefix(a, b)
    behind = common_prefix(a[same:][::-1], b[same:][::-1])
    most = max(len(a), len(b))
    if most >= _LONG and most - same - behind <= _FEW * most:
        at = _taught(look.sides[0])[0][0] + same
        what = f"the sides differ in {most - same - behind} of {most} tokens"
        yield Fault(what, tokens=(at - 1, at + 1 + len(a) - same - behind))


PRF009 = major(
    "rejected-scored-higher",
    "the row's own scores prefer the rejected side",
    "The sides are probably swapped, and the model learns the worse answer.",
    data="swap the sides",
    repair=(DROP,),
    inherent=True,
    bad=pairs(pair(score_chosen=3.0, score_rejected=8.5)),
    good=pairs(pair(score_chosen=8.5, score_rejected=3.0, margin=5.5), pair(score_chosen=4, score_rejected=4)),
    more=(pairs(pair(margin=-1.5)), pairs(pair(**{"chosen-rating": 2, "rejected-rating": 5}))),
)
_SCORES = ("score", "rating", "reward", "avg_rating", "score_overall")


@row_check(PAIRED, PRF009)
def scored_against(look: RowLook) -> Iterator[Fault]:
    """PRF009: a negative `margin`, or scores as public sets name their columns (score_chosen, chosen-rating)."""
    data = look.inspection.row.data or {}
    margin = finite(data.get("margin"))
    if margin is not None and margin < 0:
        yield Fault(f"`margin` is {margin:g}: it prefers the rejected side", "")
    for word in _SCORES:
        for form in ("{0}_{1}", "{1}_{0}", "{1}-{0}"):
            names = [form.format(word, name) for name in SIDES]
            chosen, rejected = (finite(data.get(name)) for name in names)
            if chosen is not None and rejected is not None and chosen < rejected:
                yield Fault(f"`{names[0]}` is {chosen:g} and `{names[1]}` {rejected:g}", "")


PRF014 = minor(
    "score-before-end",
    "the score is read before the last token",
    "A reward model reads its score at the last token that does not pad. If the tokenizer's stop token pads, that is"
    " the token before it: the model never sees whether the answer ends. It does so in use, too.",
    data="give the tokenizer a pad token of its own",
    inherent=True,
    bad=pairs(
        strings("Q: Where?\nA:", " Here.", " There."), loss_objective="reward", tokenizer_pad__token="<|im_end|>"
    ),
    good=pairs(strings("Q: Where?\nA:", " Here.", " There."), loss_objective="reward"),
)


@row_check(PAIRED, PRF014, row=lambda look: _both(look) and look.recipe.loss.objective == "reward")
def scored_early(look: RowLook) -> Iterator[Fault]:
    """PRF014: by the token of each side that has the label."""
    for rejected, one in enumerate(look.sides):
        for _, end in one.mask.runs:
            last = one.labels.kept[-1][1]
            if end < last:
                what = f"the {SIDES[rejected]} side is scored at token {end} of {last}"
                yield Fault(what, tokens=(end - 2, last), rejected=bool(rejected))
