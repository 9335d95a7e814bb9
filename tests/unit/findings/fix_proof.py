"""A finding's fix applied as the product applies it, and what it moved: tokens that are others or have another
label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from pathlib import Path

from case_runner import Outcome, outcome_of, recipe_of

from sftui.errors import SftuiError
from sftui.findings import Context, Finding
from sftui.findings.look import RowLook
from sftui.findings.rule import Case
from sftui.findings.rules.packing import packs_of
from sftui.model import IGNORE_INDEX, NOWHERE, Inspection, Part
from sftui.pipeline import make_batch
from sftui.recipe import Recipe, changed, get, knobs_of
from sftui.templates.tags.surgery import add_generation_tags
from sftui.trainers import preset
from sftui.trainers.own_config import losses_of

Places = set[int]


@dataclass(frozen=True)
class Fixed:
    """One finding of a case whose fix is a knob or a template, before and after."""

    name: str
    case: Case
    finding: Finding
    before: Outcome

    @property
    def trainer(self) -> str:
        return self.before.context.trainer

    @property
    def key(self) -> tuple[object, ...]:
        fix = self.finding.fix
        assert fix is not None
        return (
            self.finding.code,
            self.trainer,
            fix.template,
            *((one.path, str(one.before), str(one.after)) for one in fix.changes),
        )


def losses(recipe: Recipe) -> tuple[str, ...]:
    """What the trainer's own config cannot say of a recipe."""
    return losses_of(recipe)


def fixed_findings(name: str, case: Case) -> Iterator[Fixed]:
    """Every finding of the case with a knob or a template surgery; none where the trainer cannot be set so."""
    known = {info.path for info in knobs_of(preset(case.preset))}
    if any(path.startswith("own.") and path not in known for path in case.changes):
        return  # an option that another trainer alone has
    try:
        if losses(recipe_of(case)):
            return
        before = outcome_of(case)
    except (SftuiError, AssertionError):  # other trainers do not take every case
        return
    for finding in before.findings:
        if finding.fix is not None and (finding.fix.changes or finding.fix.template):
            yield Fixed(name, case, finding, before)


def fixed_recipe(fixed: Fixed, folder: Path) -> Recipe:
    """The recipe with the fix; a template is tagged, written and named by the recipe, as the inspector does it."""
    fix, recipe = fixed.finding.fix, fixed.before.context.recipe
    assert fix is not None
    if fix.template is not None:
        assert fix.template == "generation_tags"
        template, tools = fixed.before.context.template, fixed.before.context.tools
        assert template is not None
        chats = [one.conversation for one in fixed.before.inspections if one.conversation is not None]
        made = add_generation_tags(
            template.source, template.name, dict(tools.special_tokens), chats, options=recipe.render
        )
        assert made.refused is None and made.source != template.source, made.refused
        path = folder / "chat_template.jinja"
        path.write_text(made.source, encoding="utf-8")
        recipe = changed(recipe, "render.template", f"file:{path}")
    for change in fix.changes:
        assert get(fixed.before.context.recipe, change.path) == change.before != change.after
        recipe = changed(recipe, change.path, change.after)
    return recipe


def units(inspection: Inspection) -> list[tuple[int, int | None]]:
    """Every token of a row: its id, and its label as the trainer gets it, None where it never does."""
    if inspection.tokens is None or inspection.labels is None:
        return []
    labels = inspection.labels
    kept: Places = set()
    for start, end in labels.kept if labels.dropped is None else ():
        kept.update(range(start, end))
    return [
        (one, label if i in kept else None)
        for i, (one, label) in enumerate(zip(inspection.tokens.input_ids, labels.labels))
    ]


def moved(before: Inspection, after: Inspection) -> tuple[Places, Places]:
    """The tokens of each side that the other has not, or has with another label; tokens are matched by their ids."""
    a, b = units(before), units(after)
    gone: Places = set()
    came: Places = set()
    ids = [[one for one, _ in some] for some in (a, b)]
    blocks = (
        [("equal", 0, len(a), 0, len(b))]
        if ids[0] == ids[1]
        else SequenceMatcher(None, ids[0], ids[1], autojunk=False).get_opcodes()
    )
    for what, start, end, first, last in blocks:
        if what != "equal":
            gone.update(range(start, end))
            came.update(range(first, last))
            continue
        for i, j in zip(range(start, end), range(first, last)):
            if a[i][1] != b[j][1]:
                gone.add(i)
                came.add(j)
    return gone, came


def lost(inspection: Inspection) -> bool:
    """Whether the trainer gets nothing of a row."""
    return inspection.tokens is None or inspection.labels is None or inspection.dropped is not None


def changed_place(before: Inspection, after: Inspection) -> tuple[Places, ...]:
    """The tokens, on either side, of messages that the other side does not have so."""
    assert before.conversation is not None and after.conversation is not None
    told = [
        [repr((message.role, sorted(message.data.items(), key=str))) for message in one.messages]
        for one in (before.conversation, after.conversation)
    ]
    changed: tuple[Places, Places] = (set(), set())
    for what, start, end, first, last in SequenceMatcher(None, told[0], told[1], autojunk=False).get_opcodes():
        if what != "equal":
            changed[0].update(range(start, end))
            changed[1].update(range(first, last))
    return tuple(
        {i for i, owner in enumerate(one.tokens.messages if one.tokens else ()) if owner in some}
        for one, some in zip((before, after), changed)
    )


def place_of(name: str, finding: Finding, inspection: Inspection, context: Context) -> Places:
    """The tokens of a row that a fix may move; a rule's `moves` name them."""
    if inspection.tokens is None or lost(inspection):
        return set(range(len(inspection.tokens or ())))
    look, count = RowLook(inspection, context), len(inspection.tokens)
    if name == "row":
        return set(range(count))
    if name == "bos":
        return {0} if inspection.tokens.input_ids[0] == look.facts.bos_id else set()
    if name == "appended":
        return {
            i
            for i in (count - 1,)
            if inspection.tokens.input_ids[i] == look.facts.eos_id and inspection.tokens.starts[i] == NOWHERE
        }
    if name == "edge":
        assert inspection.boundary is not None
        return set(range(inspection.boundary.common, inspection.boundary.prompt_length))
    # torchtune writes EOS over the last token that it keeps, and masks the last one where it could have cut.
    forced = int(look.context.trainer == "torchtune" and look.recipe.length.max is not None)
    if name == "cut":
        kept = inspection.labels.kept if inspection.labels is not None else ()
        return set(range(count)) - {i for start, end in kept for i in range(start, end - forced)}
    if name == "over":
        assert finding.tokens is not None
        return set(range(finding.tokens[0] + 3 - int(look.context.trainer == "torchtune"), count))
    if name == "frame":
        return {i for i, part in enumerate(inspection.tokens.parts) if part is not Part.CONTENT}
    if name == "brackets":
        first = [range(*turn.content) for turn in look.answers]
        runs = [
            takewhile(lambda i: set(look.spelling.token(i)) <= {"[", "]"}, some)
            for one in first
            for some in (one, reversed(one))
        ]
        return {i for run in runs for i in run}
    if name == "stops":
        return {i for turn in look.answers for i in range(*turn.terminator)}
    if name == "behind stops":
        return {i for turn in look.answers for i in range(*turn.separator)}
    if name == "headers":
        return {i for turn in look.answers for i in range(*turn.header)}
    if name == "injected":
        return {i for i, part in enumerate(inspection.tokens.parts) if part is Part.INJECTED}
    if name == "message":
        roles = (
            {look.roles[finding.message]} if finding.message is not None and finding.code.startswith("ROL") else set()
        )
        return {
            i
            for turn in look.turns
            if turn.message == finding.message or turn.role in roles
            for i in range(turn.header[0], turn.end)
        }
    # An answer is its text and turn end, with its header where a rule trains whole turns; LLaMA-Factory's templates end
    # an answer with the line break behind it.
    header, further = look.recipe.mask.rule == "turn_full", look.context.trainer == "llamafactory"
    answers = {
        i
        for turn in look.answers
        for i in range(
            turn.header[0] if header else turn.content[0], max(turn.end, turn.separator[1] if further else 0)
        )
    }
    return {"answers": answers, "others": set(range(count)) - answers, "nowhere": set()}[name]


Side = tuple[Inspection, Context, Sequence[Finding]]
"""One row before or after a fix: the row, its context, and the findings whose place is asked for."""


def places_of(names: Sequence[str], before: Side, after: Side) -> tuple[Places, Places]:
    """The tokens, on either side, that a fix may move in a row: at one of the named places of one of the findings."""
    a, b = (
        {i for one in found for name in names for i in place_of(name, one, row, context)}
        for row, context, found in (before, after)
    )
    tokens = [side[0].tokens for side in (before, after)]
    if tokens[0] is not None and tokens[1] is not None and tokens[0].input_ids == tokens[1].input_ids:
        return a | b, a | b  # a token is the same one on both sides
    if a and names[0] in ("cut", "over"):  # what was cut off, and the last token that was kept, which was another
        b |= set(range(min(a), len(tokens[1] or ())))
    return a, b


def trained_elsewhere(inspection: Inspection, context: Context, finding: Finding) -> Places:
    """The trained tokens of a row outside its answers; nothing where the recipe trains all, or the row says itself
    what."""
    if (
        lost(inspection)
        or inspection.labels is None
        or context.recipe.mask.rule in ("auto", "all", "given")
        or not RowLook(inspection, context).turns
    ):
        return set()
    trained = {i for i, label in enumerate(inspection.labels.labels) if label != IGNORE_INDEX}
    return (
        trained
        - place_of("answers", finding, inspection, context)
        - place_of("behind stops", finding, inspection, context)
    )


def torn(outcome: Outcome) -> list[tuple[int, int]]:
    """The documents of packs, by pack and place, whose labels are not those of their row, the first of a document
    aside."""
    packs, _, examples = packs_of(outcome.context, outcome.inspections)
    found = []
    for number, pack in enumerate(packs):
        at = 0
        for place, (index, start, end) in enumerate(pack.documents):
            labels, own = pack.labels[at : at + end - start], examples[index].labels[start:end]
            if labels[1:] != own[1:] or labels[:1] not in (own[:1], (IGNORE_INDEX,)):
                found.append((number, place))
            at += end - start
    return found


def effect(outcome: Outcome) -> tuple[object, ...]:
    """What the trainer gets beside the labels of rows: examples, the batch, the packs, and the token that stops."""
    context, found = outcome.context, outcome.inspections
    try:
        batch: object = make_batch(found, context.recipe, context.tools)
    except SftuiError as error:
        batch = str(error)
    return [one.example for one in found], batch, packs_of(context, found)[0], context.facts.eos_id
