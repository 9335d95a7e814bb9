"""What is offered against a finding is tried first, on the rows that it concerns and a few others."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import chain, islice
from operator import attrgetter, itemgetter
from pathlib import Path

from sftui.errors import SftuiError
from sftui.findings import CODES, SCOPE_OF, DatasetChecks, Finding, Fix, Severity, check_dataset, check_setup
from sftui.findings.catalogue import REPAIR_OF, cures_of, fix_text
from sftui.findings.fixes import newer
from sftui.findings.look import RowLook
from sftui.findings.rule import DROP, TO_MESSAGES
from sftui.findings.rules.truncation import round_up
from sftui.model import GONE, Inspection, Row
from sftui.recipe import Recipe, changed, diff, get, with_changes
from sftui.repairs.run import REPAIRS
from sftui.session.candidates import ALL, advised, mappings, pairs, renderings, settings, single_knobs
from sftui.session.harm import harm_of
from sftui.session.opened import HEAVY, OpenData
from sftui.session.ready import Ready, ready_under
from sftui.tokens.shortcuts.bulk import Bulk
from sftui.trainers import traits_of
from sftui.trainers.own_config import keys_between, losses_of
from sftui.views.knobs import value_text

CONCERNED = 3
"""Rows that a finding names on which its cures are tried."""
UNSEEN = "too few rows were tried to show an effect"
SOON = 8
"""So many rows are prepared before it is looked again whether a cure does harm."""
TRIAL = "sftui-trial-"
"""Begins the name of the folder of a template that is tried."""
ODD = "rows with other findings"
"""In the memo of the checks: the rows of the whole data, beside the first ones, on which a cure must do no harm."""
HARMED = "the row harmed last"
"""In the memo of the checks: what harms it at once needs not be tried on the others."""
COSTLY = "rows that cost too much"
"""The key of the context's memory under which an audit leaves the numbers of those that it found."""
READING = {"data.format", "data.fields", "data.message_keys", "data.role_map"}
"""Knobs that say which columns and keys are read as what."""
MOST_RECIPES = 300
"""So many recipes are tried against a finding that has no fix of its own."""
MOST_PAIRS = 150
"""So many pairs of changes are tried against one that has no cure."""
GENTLE = (TO_MESSAGES, *(name for name in REPAIRS if name != "strip-tokens"))
"""Repairs that take no word away, and may be tried whatever the finding is."""
NEAR = "changes that do harm alone"
"""In the memo of the checks: by what a finding is, the changes under which it may be gone."""
_WHICH = attrgetter("code", "row", "message", "tokens", "sentence")
"""What tells findings apart whose cures are tried."""
_MORE = re.compile(r" (?:and|or|with|in) ")
"""In an advice: something else is to be done, too, or instead."""
Made = tuple[Inspection, "tuple[Finding, ...]"]
Half = tuple[Recipe, tuple[str, ...]]
"""A recipe, and the repairs of the data beside those that are in force."""


def with_cures(session: Ready, finding: Finding) -> Generator[None, None, Finding]:
    """The finding with the cures alone that help; `declined` says why others do not.

    A cure helps where the finding goes away or shrinks in the rows that it concerns, and no row tried is harmed (see
    `harm.harm_of`) or has an error that it had not. Where neither its own fix nor a repair but leaving rows out does,
    one is looked for among all changes of the recipe that the trainer can be told, then among all repairs that take no
    word away. Yields after each step of the work.
    """
    if _untriable(session, finding):
        return finding
    declined: list[str] = []
    fix = finding.fix
    if fix is not None and not fix.in_words:
        # some trainers have their own copy of a template, with tags
        ways = [fix] if fix.template is None else [fix_to(session, with_changes(session.requested, fix.changes)), fix]
        for fix in ways:
            why = yield from why_not(session, finding, fix)
            if not why:
                break
        if why:
            paths = ", ".join(change.path for change in fix.changes)
            what = f"changing {paths}" if paths else "putting generation tags into the chat template"
            declined.append(f"{what} does not help: {why}")
            fix = None
        elif fix.changes:
            fix = in_keys(session.requested, fix)
    helpful: list[str] = []
    for name in REPAIR_OF.get(finding.code, ()):
        why = _all_left_out(session, finding) if name == DROP else (yield from why_not(session, finding, name))
        if not why:
            helpful.append(name)
        elif name != DROP:
            declined.append(f"{name} does not help: {why}")
    cured = replace(finding, fix=fix, repairs=tuple(helpful), declined=tuple(declined))
    # where every row is lost, the fault is how they are read, and no repair of each of them is asked for
    if CODES[finding.code].inherent:
        return cured
    if not cures_of(cured) or (not (fix is not None and fix.changes) and _lost(_as_they_are(session, finding))):
        cured = replace(cured, fix=(yield from _searched(session, finding)) or fix)
    for name in GENTLE if finding.severity is not Severity.INFO else ():
        if cures_of(cured):
            break
        if name not in REPAIR_OF.get(finding.code, ()) and not (yield from why_not(session, finding, name, own=False)):
            cured = replace(cured, repairs=(name, *helpful))
    return cured if cures_of(cured) else (yield from _without_what_fails(session, cured))


def _without_what_fails(session: Ready, finding: Finding) -> Generator[None, None, Finding]:
    """A finding whose advice is in words, without those ways that are keys of its trainer's config alone and do not
    help; where none is left, with what to do to the data."""
    fix, declined, left = finding.fix, list[str](), list[str]()
    if fix is None:
        return finding
    for way in fix.title.split(", or "):
        whys = list[str]()
        for other in advised(session.recipe, "" if _MORE.search(way) else way):
            why = yield from _under(session, finding, other)
            keys = fix_to(session, other).trainer_keys[session.recipe.trainer]
            whys += [f"{keys} does not help: {why}"] if why not in ("", UNSEEN) else []
        declined += whys
        left += [] if whys else [way]
    data = CODES[finding.code].data
    left = left or [way for way in (data,) if data and data != fix.title]
    left_fix = replace(fix, title=", or ".join(left)) if left else None
    return replace(finding, fix=left_fix, declined=(*finding.declined, *declined)) if declined else finding


def with_pair(session: Ready, finding: Finding) -> Generator[None, None, Finding]:
    """A finding that has no cure, with the first two changes that help together, where one alone does harm or leaves
    it; as it is where none do. Yields as `with_cures`."""
    near: Mapping[tuple[object, ...], Sequence[Half]] = session.checks().once(NEAR, dict)
    if cures_of(finding) or CODES[finding.code].inherent or finding.severity is Severity.INFO:
        return finding
    for recipe, repairs in islice(_pairs(session, finding, tuple(near.get(_alike(finding), ()))), MOST_PAIRS):
        told = recipe == session.requested or can_be_told(session.requested, recipe)
        if told and not (yield from _under(session, finding, recipe, (*session.repairs, *repairs))):
            return replace(finding, fix=fix_to(session, recipe, repairs))
    return finding


def _pairs(session: Ready, finding: Finding, near: Sequence[Half]) -> Iterator[Half]:
    """Changes of which one alone does harm, each with one more: first another length, then a repair, then a setting
    but packing, which is no way around a length."""
    said, knobs = set(losses_of(session.recipe)), tuple([name for name in ALL if name != "pack"])
    rows, seen = _rows(session, finding), list[Half]()

    def lengths(recipe: Recipe, repairs: tuple[str, ...]) -> tuple[int, None]:
        made = _before(_ready(session, recipe, (*session.repairs, *repairs)), rows)
        return round_up(max([len(row.tokens) for row, _ in made if row.tokens is not None], default=0)), None

    longer = ((changed(half[0], "length.max", length), half[1]) for half in near for length in lengths(*half))
    more = ((recipe, (*repairs, name)) for recipe, repairs in near for name in GENTLE if name not in repairs)
    other = (
        (changed(recipe, path, value), repairs) for recipe, repairs in near for path, value in settings(recipe, knobs)
    )
    for half in chain(longer, more, other):
        if half not in seen and said.issuperset(losses_of(half[0])):
            seen.append(half)
            yield half


def _ready(session: Ready, recipe: Recipe, repairs: tuple[str, ...]) -> Ready:
    """The same data under another recipe, which is prepared once; SftuiError."""
    known: dict[tuple[str, tuple[str, ...]], Ready] = session.checks().once("under other recipes", dict)
    key = (str(diff(session.requested, recipe)), repairs)
    if key not in known:
        other = ready_under(session, recipe, repairs)  # the fix may be a version with another transformers
        other.checks()
        known[key] = other
    return known[key]


def with_cure_of(session: Ready, finding: Finding, others: Iterable[Finding]) -> Generator[None, None, Finding]:
    """A finding that has no cure, with the first of the cures of others that helps against it, too; as it is where none
    does. Yields as `with_cures`."""
    for other in () if CODES[finding.code].inherent or _untriable(session, finding) else others:
        fix = other.fix
        for name in other.repairs or ():
            if name != DROP and not (yield from why_not(session, finding, name)):
                return replace(finding, repairs=(name, *(finding.repairs or ())))
        if fix is not None and fix.changes and not (yield from why_not(session, finding, fix)):
            return replace(finding, fix=fix)
    return finding


def _untriable(session: Ready, finding: Finding) -> bool:
    """Whether a finding's row is drawn anew under another recipe, which would seem to help, or costs too much."""
    return finding.row is not None and (finding.row in session.split.unread or finding.row in _costly(session))


def _alike(finding: Finding) -> tuple[object, ...]:
    """What findings have in common against which the same changes of the recipe are tried."""
    return finding.code, finding.severity, finding.signature or finding.sentence


def helped(finding: Finding) -> bool:
    """Whether a finding whose cures were tried has one."""
    return bool(finding.repairs or cures_of(finding))


def in_keys(recipe: Recipe, fix: Fix) -> Fix:
    """A fix of the recipe with what its trainer's config says then, in place of the words of its rule."""
    after = with_changes(recipe, fix.changes)
    if after.preset != recipe.preset:
        keys = f"{traits_of(after.preset).title} {after.version}"
    else:
        said = keys_between(recipe, after)
        told, file = list[str](), ""
        for key, value in said:
            where, _, name = key.rpartition(" ")
            shown, file = name if where and where == file else key, where  # a file is named once
            told.append(f"remove {shown}" if value is GONE else f"{shown}: {value_text(value)}")
        keys = ", ".join(told)
    packs, packing = any(change.path.startswith("pack.") for change in fix.changes), traits_of(recipe.preset).packing
    if keys and packs and packing.separates_by == "positions" and after.pack.strategy in packing.separates:
        keys = f"{keys}; needs FlashAttention to keep documents apart"
    if after.render.template == "tokenizer" != recipe.render.template:
        keys = keys or fix.title
        keys = f"{keys} (the tokenizer's own template)"
    if fix.template:
        keys = f"{keys}, with generation tags in the template, which `sftui template --add-generation-tags` adds"
    if fix.repairs:
        command = f"`sftui repair --apply {','.join(fix.repairs)}`"
        keys = ", with ".join(filter(None, (keys or fix.title, command)))
    # a key that has another word for it only hints at it: the command says it
    named = after.loss.objective == recipe.loss.objective or f": {after.loss.objective}" in keys
    keys = keys if keys and named else fix.trainer_keys.get(recipe.trainer) or fix.title
    return replace(fix, trainer_keys={**fix.trainer_keys, recipe.trainer: keys})


def _searched(session: Ready, finding: Finding) -> Generator[None, None, Fix | None]:
    """The smallest change of the recipe that helps against a finding; None where none of those tried does."""
    context = session.checks()
    key = ("searched", *_alike(finding))
    if key not in context.memo:
        best: tuple[int, int, Recipe] | None = None
        said, told, seen = set(losses_of(session.recipe)), context.once("can be told", dict[str, bool]), {""}
        advice = fix_text(finding.code, session.recipe.trainer, not session.recipe.supervised)
        first = list(advised(session.recipe, advice))
        for number, other in enumerate(islice(chain(first, _recipes(session, finding)), MOST_RECIPES)):
            likely = number < len(first)
            change = str(diff(session.recipe, other) or "")
            if change not in told:
                told[change] = said.issuperset(losses_of(other)) and can_be_told(session.requested, other)
            if change in seen or not told[change]:
                continue
            seen.add(change)
            if best is not None and best[0] == 0 and not likely:
                break
            why = yield from _under(session, finding, other)
            if not why:
                made = zip(_as_they_are(session, finding), context.memo.get("after", ()))
                turned = sum([_turned(was, now) for was, now in made])
                best = min(best or (turned, number, other), (turned, number, other), key=itemgetter(0, 1))
                if likely:
                    break
        fix = None if best is None else fix_to(session, best[2])
        context.memo[key] = fix
    found: Fix | None = context.memo[key]
    return found


def _recipes(session: Ready, finding: Finding) -> Iterator[Recipe]:
    """What is tried against a finding but for its trainer's advice: single knobs; columns and keys that nobody reads; a
    newer release; two knobs at once."""
    recipe = session.recipe
    if finding.severity is Severity.INFO:
        return
    rows = _as_they_are(session, finding)
    lost = _lost(rows)
    read = list(mappings(recipe, session.detected, session.stored.sample, lost=lost))
    yield from read if lost else ()
    yield from (changed(recipe, path, value) for path, value in single_knobs(recipe, rows, ALL))
    yield from () if lost else read
    yield from renderings(recipe, session.tools.default_template)
    if traits_of(recipe.preset).versions:
        release = recipe
        for path, value in newer(session.checks()):
            release = changed(release, path, value)
        yield release
    yield from pairs(recipe)


def can_be_told(recipe: Recipe, other: Recipe) -> bool:
    """Whether the trainer's config says something else under another recipe; a loop written by hand does what it is
    given."""
    traits = traits_of(recipe.preset)
    return traits.by_hand or not traits.config or other.preset != recipe.preset or bool(keys_between(recipe, other))


def fix_to(session: OpenData, recipe: Recipe, repairs: tuple[str, ...] = ()) -> Fix:
    """The fix that leads to another recipe, with repairs."""
    changes = diff(session.requested, recipe)
    title = ", ".join(f"set {change.path} to {value_text(change.after)}" for change in changes)
    return in_keys(session.requested, Fix(title, changes, repairs=repairs))


def _turned(was: Inspection, now: Inspection) -> int:
    """How many tokens of a row have another label than before; none of a row of which there were none."""
    before, after = ([] if made.labels is None or made.dropped else made.labels.labels for made in (was, now))
    return sum([one != other for one, other in zip(before, after)]) + abs(len(before) - len(after)) * bool(before)


def why_not(session: Ready, finding: Finding, cure: str | Fix, *, own: bool = True) -> Generator[None, None, str]:
    """Why one cure, a repair or a fix of the recipe, does not help; "" where it does. `own` as in `judged`."""
    context = session.checks()
    what = cure if isinstance(cure, str) else str((cure.changes, cure.template, cure.repairs))
    key: tuple[object, ...] = ("tried", *_WHICH(finding), what)
    if key not in context.memo:
        with ExitStack() as files:
            try:
                recipe, repairs = changed_by(session, (cure,), files)
            except SftuiError as error:
                context.memo[key] = str(error)
                return str(error)
            context.memo[key] = yield from _under(session, finding, recipe, repairs, own=own)
    return str(context.memo[key])


def _under(
    session: Ready, finding: Finding, recipe: Recipe, repairs: tuple[str, ...] | None = None, *, own: bool = False
) -> Generator[None, None, str]:
    """Why another recipe, or other repairs, do not help against a finding; "" where they do; `own` as in
    `judged`."""
    repairs = session.repairs if repairs is None else repairs
    try:
        other = _ready(session, recipe, repairs)
    except SftuiError as error:
        return str(error)
    yield None
    why = yield from judged(session, other, finding, own=own)
    if why and why not in (UNSEEN, f"{finding.code} stays") and not of_trial(recipe):
        near: dict[tuple[object, ...], list[Half]] = session.checks().once(NEAR, dict)
        halves = near.setdefault(_alike(finding), [])
        half = recipe, repairs[len(session.repairs) :]
        if half not in halves:
            halves.append(half)
    return why


def changed_by(session: Ready, cures: Iterable[str | Fix], files: ExitStack) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe and the repairs that cures put in force together, the later ones over the earlier; SftuiError where
    one cannot be had."""
    recipe, repairs = session.requested, session.repairs
    for cure in cures:
        if isinstance(cure, str):
            repairs = (*repairs, cure)
            continue
        if cure.template is not None:
            folder = files.enter_context(tempfile.TemporaryDirectory(prefix=TRIAL))
            file = Path(folder, "tagged.jinja")
            file.write_text(_tagged(session), encoding="utf-8")
            recipe = changed(recipe, "render.template", f"file:{file}")
        for change in cure.changes:
            before, after = change.before, change.after
            if isinstance(before, Mapping) and isinstance(after, Mapping):  # what others have put there stays
                held = get(recipe, change.path).items()
                stays = {key: value for key, value in held if key in after or key not in before}
                after = {**stays, **{key: value for key, value in after.items() if before.get(key) != value}}
            recipe = changed(recipe, change.path, after)
        repairs = (*repairs, *cure.repairs)
    return recipe, repairs


def of_trial(recipe: Recipe) -> bool:
    """Whether the template of a recipe is one that `changed_by` put tags into."""
    kind, _, file = recipe.render.template.partition(":")
    return kind == "file" and Path(file).parent.name.startswith(TRIAL)


def _tagged(session: Ready) -> str:
    """The template in force with generation tags; SftuiError where there are none to be had."""
    from sftui.templates.tags.surgery import add_generation_tags

    tools = session.checks().tools
    template = tools.default_template
    if template is None:
        raise SftuiError("there is no chat template to add tags to")
    chats = [
        made.conversation
        for made, _ in _before(session, _light(session, session.stored.sample))
        if made.conversation is not None
    ]
    special, options = dict(tools.special_tokens), session.recipe.render
    done = add_generation_tags(
        template.source, template.name, special, chats, options=options, rendering=template.rendering
    )
    if done.refused is not None:
        raise SftuiError(f"no tags can be added to {template.name}", why=done.refused)
    return done.source


def judged(session: Ready, other: Ready, finding: Finding, *, own: bool = True) -> Generator[None, None, str]:
    """Why the same data, changed, is no better against a finding; "" where it helps and does no harm. `own`: by the
    cure of the finding itself, which may reveal what is wrong, too, with rows that it stopped."""
    rows, answering = _rows(session, finding), traits_of(session.requested.preset).answering
    before, after = _before(session, rows), list[Made]()
    # most fail at the first, which is kept, for other findings of it
    made = chain(_before(other, rows[:1]), _made(other, rows[1:SOON]), _made(other, rows[SOON:]))
    for number, ((was, had), (now, has)) in enumerate(zip(before, made)):
        after.append((now, has))
        yield None
        if number == 0 and finding.row is not None and (why := _still(finding, had, now, has)):
            return why
        if why := harm_of(was, now, answering, asks=session.recipe.mask == other.recipe.mask):
            session.checks().memo[HARMED] = rows[number]
            return why
        hidden = own and was.labels is None  # what was wrong with it could not be seen
        if now.row.left_out is None and not hidden and (new := _errors(has) - _errors(had)):
            return f"row {was.row.index} then has {' and '.join(sorted(new))}"
        if not own and number == 0 and finding.row is not None and _lost((was, now)) and now.row.left_out is None:
            return f"row {was.row.index} is still lost"
    named = {change.path for change in diff(session.requested, other.requested)}
    mapped = named and named <= READING and session.repairs == other.repairs
    if mapped and all(was.conversation == now.conversation for (was, _), (now, _) in zip(before, after)):
        return "the rows are still read the same way"  # so that the finding is silenced, and nothing is cured
    session.checks().memo["after"] = [now for now, _ in after]
    if all(now.row.left_out is not None for now, _ in after) and len(after) > 1:
        return "none of the tested rows would remain"
    if SCOPE_OF[finding.code] == "dataset":
        counts = [_of_dataset(side, [made for made, _ in some]) for side, some in ((session, before), (other, after))]
        if not counts[0][finding.code]:
            return UNSEEN
        if counts[1][finding.code] >= counts[0][finding.code]:
            return f"{finding.code} stays"
    found = session.checks().once("setup as it is", lambda: _set_up(session, before))
    left = _set_up(other, after)
    yield None
    if new := _errors(left) - _errors(found):
        return f"the setup then has {' and '.join(sorted(new))}"
    if finding.row is not None or SCOPE_OF[finding.code] == "dataset":
        return ""
    counted = [
        sum([one.count for one in some if one.code == finding.code and _as_grave(one, finding)])
        for some in (found, left)
    ]
    if not counted[0]:
        return UNSEEN
    return f"{finding.code} stays" if counted[1] >= counted[0] else ""


def _all_left_out(session: Ready, finding: Finding) -> str:
    """That no row would be left without those that have a finding; "" where some are."""
    rows = _before(session, _rows(session, finding))
    has = [finding.code in {one.code for one in found} for _, found in rows]
    return "none of the tested rows would remain" if all(has) and len(has) > 1 else ""


def _of_dataset(session: Ready, rows: Iterable[Inspection]) -> Counter[str]:
    """How often each finding of the whole dataset is found in a few rows."""
    context = session.checks()
    checks = DatasetChecks(context)
    for row in rows:
        if row.row.left_out is None:
            checks.add(RowLook(row, context))
    counts: Counter[str] = Counter()
    for finding in check_dataset(checks):
        counts[finding.code] += finding.count
    return counts


def _still(finding: Finding, had: Sequence[Finding], now: Inspection, has: Sequence[Finding]) -> str:
    """That the finding of a row stays; "" where it is gone."""
    if now.row.left_out is not None:
        return ""
    for alike in (_mark, lambda one: one.code):  # this very one, and then how many of its code there are
        counts = [
            sum(alike(one) == alike(finding) and _as_grave(one, finding) for one in found) for found in (had, has)
        ]
        if counts[1] >= counts[0] > 0:
            return f"{finding.code} stays"
    return ""


def _as_grave(one: Finding, finding: Finding) -> bool:
    """Whether one is as bad as another; a warning that becomes an information is lessened."""
    return one.severity.rank <= finding.severity.rank


def _mark(finding: Finding) -> tuple[object, ...]:
    """What a finding is, wherever its tokens have moved."""
    return finding.code, finding.message, finding.sentence, finding.evidence


def _rows(session: Ready, finding: Finding) -> list[Row]:
    """The rows as stored on which a cure is tried, those that the finding names first; few where nothing is wrong."""
    costly = _costly(session)
    concerned = (finding.row,) if finding.row is not None else finding.rows
    rows = dict[int, Row]()
    for number in islice((number for number in concerned if number not in costly), CONCERNED):
        with suppress(IndexError):  # the file was cut since
            rows[number] = session.stored.source.row(number)
    memo = session.checks().memo
    harmed, odd = ([memo[HARMED]] if HARMED in memo else []), memo.get(ODD, ())
    for row in _light(session, (*harmed, *session.stored.sample, *odd)):
        rows.setdefault(row.index, row)
    return list(rows.values())[: SOON if finding.severity is Severity.INFO else None]


def _costly(session: Ready) -> Collection[int]:
    """The rows that are known to go over sftui's own bounds."""
    costly: Collection[int] = session.checks().memo.get(COSTLY, ())
    return costly


def _light(session: Ready, rows: Sequence[Row]) -> list[Row]:
    """Those of some rows that cost little."""
    costly = _costly(session)
    return [row for row in rows if row.size <= HEAVY and row.index not in costly]


def _set_up(session: Ready, rows: Iterable[Made]) -> tuple[Finding, ...]:
    """What is wrong with the set-up, by those of some rows that are of the sample."""
    sampled = {row.index for row in _light(session, session.stored.sample)}
    return check_setup(session.checks(), [row for row, _ in rows if row.row.index in sampled and not row.row.left_out])


def _before(session: Ready, rows: Sequence[Row]) -> list[Made]:
    known: dict[int, Made] = session.checks().once("as it is", dict)
    missing = [row for row in rows if row.index not in known]
    known.update({made[0].row.index: made for made in _made(session, missing)})
    return [known[row.index] for row in rows]


def _as_they_are(session: Ready, finding: Finding) -> list[Inspection]:
    """The rows on which a cure is tried, as they are without one."""
    return [row for row, _ in _before(session, _rows(session, finding))]


def _lost(rows: Iterable[Inspection]) -> bool:
    """Whether the trainer takes none of some rows."""
    return all(row.example is None for row in rows)


def _made(session: Ready, stored: Iterable[Row]) -> Iterator[Made]:
    """Rows prepared together, with what is wrong in them; too few for an engine that takes long to load."""
    rows = (session.over(row) if row.repairs == () else row for row in stored)
    for inspection in session.inspect_many(rows, engine=Bulk("never")):
        yield inspection, session.found(inspection)


def _errors(found: Iterable[Finding]) -> set[str]:
    return {finding.code for finding in found if finding.severity.value == "error"}
