"""What was tried and helps, put in force together: new data and a new config, planned before anything is written;
and how a set that its trainer does not read can be read: other columns, keys or formats, tried on its first rows."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from sftui.conversations import Detection
from sftui.errors import ExportError, SftuiError
from sftui.exports.files import all_or_none
from sftui.exports.plan import TEMPLATE_FILE, ExportPlan, left_out, plan_file
from sftui.exports.report_model import AuditReport, Cure, FixOutcome, RowSample
from sftui.findings import Finding, Fix, Severity
from sftui.findings.catalogue import REPAIR_OF, cures_of
from sftui.model import GONE, Inspection
from sftui.recipe import Recipe, changed, diff, get
from sftui.repairs.run import DEDUPLICATE, DROPPING, TITLES, RepairPlan
from sftui.session.arguments import PARQUET
from sftui.session.candidates import mappings
from sftui.session.checking import AuditSession, result_of
from sftui.session.converting import opens_with, plan_reading
from sftui.session.encoding import refuse_half
from sftui.session.opened import OpenData, settle_split
from sftui.session.ready import Ready, ready_under, under
from sftui.session.repairing import WriteProgress, check_targets
from sftui.session.trial import can_be_told, changed_by, fix_to, in_keys, judged, of_trial
from sftui.sources.files import format_of
from sftui.text import many
from sftui.trainers import trainer_of, traits_of
from sftui.trainers.own_config import keys_between, losses_of
from sftui.trainers.traits import Quirk
from sftui.views.knobs import value_text

ROUNDS = 3
"""So often it is looked for what shows once other findings are gone,"""
ROUND_ROWS = 500
"""in so many rows of all."""
SAMPLES = 3
"""Changed rows that are shown before and after."""
SHOWN, LEAD = 100, 20
"""Characters of each, and how many of them stand before the first that differs."""
READING = ("split", "subset", "data_revision", "rows_in")
"""Options that say which rows of the data there are."""
STARTING = ("config", "recipe_file", "trainer", "dataset", "max_length", "data_format", "template", "tokenizer")
"""Options that say how rows are prepared, which the files of a config say then."""


Taken = tuple["Fix | str", list[str]]
"""A cure that is in force, and the codes of the findings that it is taken against."""


@dataclass(frozen=True, eq=False)
class FixPlan:
    """What is to be written against the findings of a session: `session` is the same data with the `cures` in force,
    `data` the file of its rows and `log` what was changed in them (None: the data stays as it is), `config` the files
    that read them (None: the same options do). `opening` are options, by their names, that open what is written in
    place of those that opened the session; `keys` are those of the trainer's config that say something else, with what
    they said and say."""

    session: Ready
    cures: list[Cure]
    left: list[Cure]
    data: Path | None
    log: Path | None
    config: ExportPlan | None
    opening: dict[str, Any]
    keys: tuple[tuple[str, str, str], ...]

    @property
    def rows(self) -> RepairPlan:
        """What becomes of the rows."""
        return RepairPlan() if self.session.overlay is None else self.session.overlay.plan

    @property
    def files(self) -> tuple[Path, ...]:
        """Everything that is to be written."""
        planned = () if self.config is None else (file.path for file in self.config.files)
        return (*(file for file in (self.data, self.log) if file is not None), *planned)

    @property
    def written(self) -> tuple[Path, ...]:
        """Those of them that are not there, just so, already."""
        planned = () if self.config is None else self.config.files
        same = [file.path for file in planned if file.exists and not file.diff]
        return tuple(file for file in self.files if file not in same)


def plan_fix(
    session: Ready, checked: AuditReport, folder: Path, drop: Sequence[str], way: Fix | None = None
) -> FixPlan:
    """The cures that help together, and what is to be written into `folder` for them: nothing where there are none.

    `way` is what was set already so that the data is read at all (see `way_in`).
    `drop` are reasons and codes of rows to leave out, as `sftui repair` takes them. SftuiError where the trainer
    would not read what is written.
    """
    with ExitStack() as files:
        other, taken, left = _combined(session, checked, _leaving_out(drop), files)
        recipe, prepared, config = other.requested, other.prepared(), session.options.config
        before = session.requested if way is None else session.options.base or session.requested
        ways = [] if way is None else [Cure(_words(before, way), ())]
        cures = [*ways, *_in_force(taken, session.requested, recipe), *(Cure(f"--drop {word}", ()) for word in drop)]
        place, tagged = folder.absolute() / TEMPLATE_FILE, of_trial(recipe)
        recipe = changed(recipe, "render.template", f"file:{place}") if tagged else recipe
        keys = tuple(_keys(before, recipe))
        if not cures:
            return FixPlan(other, cures, left, None, None, None, {}, ())
        read = other.recipe != session.recipe or way is not None or config is not None
        data = log = planned = None
        opening: dict[str, Any] = {}
        traits, named = traits_of(recipe.preset), "" if config is None else Path(config.path).name
        paths = [Path(path) for path in session.options.paths]
        elsewhere = not paths or traits.data_name not in ("", paths[0].name) or any(left_out(prepared))
        if other.repairs or (config is None and read and elsewhere):
            stem = Path(next(iter(checked.files.values()), checked.title)).name.partition(".")[0] or "rows"
            parquet = format_of(session.source.title) == "parquet" and config is None
            ending = PARQUET if parquet or Quirk.PARQUET_ALONE in traits.quirks else ".jsonl"
            data = folder / (traits.data_name or f"{stem}{ending}")
            log = data.with_name(f"{data.stem}.log.jsonl")
            check_targets(session.options.paths, str(data), str(log))
            opening = {"data": (str(data),), **dict.fromkeys(READING)}
        if read:
            planned = plan_reading(recipe, recipe.preset, session.options, prepared, data, folder)
            planned = _with_template(planned, other, place) if tagged else planned
            opening |= {**dict.fromkeys(STARTING), "knobs": (), "fields": ()}
            waived, rows = bool(recipe.waivers), data or paths[0]
            opening |= opens_with(planned, recipe.preset, recipe, rows, named, waived=waived)
            if config is not None and len(config.datasets) > 1:
                opening["dataset"] = str(config.chosen)
        return FixPlan(other, cures, left, data, log, planned, opening, keys)


def _leaving_out(drop: Sequence[str]) -> tuple[str, ...]:
    """The repairs that leave rows out for reasons and codes; of rows that stand twice one stays."""
    twice = [DEDUPLICATE in REPAIR_OF.get(word.upper(), ()) for word in drop]
    return tuple(DEDUPLICATE if double else f"{DROPPING}{word}" for word, double in zip(drop, twice))


def _combined(
    session: Ready, checked: AuditReport, dropping: Sequence[str], files: ExitStack
) -> tuple[Ready, list[Taken], list[Cure]]:
    """The same data with every cure that helps together with those before it, also of findings that only show once
    others are gone; the cures, and those that are left out."""
    other, taken, left, settled = session, list[Taken](), dict[tuple[str, ...], Cure](), list[tuple[Ready, Finding]]()
    for _ in range(ROUNDS):
        made, more, refused = _together(other, checked, settled, dropping, files)
        taken += more
        left |= {cure.codes if cure.drops else (cure.text, *cure.codes): cure for cure in refused}
        if not more:
            break
        other = made
        settle_split(other)
        checking = AuditSession(other, checked.audit.found.wanted, sample=ROUND_ROWS)
        deque(checking.steps(), maxlen=0)
        checked = checking.checked()
    if dropping:
        other = ready_under(session, other.requested, (*other.repairs, *dropping))
    return other, taken, [*left.values()]


def _together(
    session: Ready,
    checked: AuditReport,
    settled: list[tuple[Ready, Finding]],
    dropping: Sequence[str],
    files: ExitStack,
) -> tuple[Ready, list[Taken], list[Cure]]:
    """The same of what was found in a session, the worst and most frequent first; `settled` are findings, with the data
    that had them, which no cure may bring back: those that are cured join them."""
    found, title = checked.audit.found.codes, traits_of(session.requested.preset).title
    wanted = [one for one in checked.cured.values() if one.severity is not Severity.INFO and one.code in found]
    stages, taken, left = list[Ready](), list[Taken](), list[Cure]()
    for finding in sorted(wanted, key=lambda one: (one.severity.rank, -found[one.code].count)):
        cures, refused, kept = cures_of(finding), list[Cure](), [cure for cure, _ in taken]
        if cures and stages and not result_of(judged(session, stages[-1], finding)):  # it is gone already
            whys = (result_of(judged(session, stage, finding)) for stage in stages)
            taken[next(number for number, why in enumerate(whys) if not why)][1].append(finding.code)
            continue
        for cure in cures:
            try:
                if isinstance(cure, Fix) and any(change.path == "preset" for change in cure.changes):
                    raise ExportError(f"it is another release of {title}, which no config selects")
                made = ready_under(session, *changed_by(session, (*kept, cure), files))
                whys = (result_of(judged(base, made, one)) for base, one in ((session, finding), *settled))
                why = next(filter(None, whys), "")
            except SftuiError as error:
                why = str(error)
            if not why:
                stages.append(made)
                taken.append((cure, [finding.code]))
                settled.append((session, finding))
                break
            refused.append(Cure(_words(session.requested, cure), (finding.code,), why))
        else:
            left += refused
            if not cures and finding.repairs and f"{DROPPING}{finding.code}" not in dropping:
                rows, how = found[finding.code].in_rows(), f"--drop {finding.code} asks for it"
                left.append(Cure(f"drop {many(rows, 'row')}", (finding.code,), how, rows))
    return stages[-1] if stages else session, taken, left


def _in_force(taken: Sequence[Taken], before: Recipe, after: Recipe) -> list[Cure]:
    """The cures that a recipe has in the end; what one that was set otherwise later was taken against, the next has."""
    cures, waiting = dict[str, list[str]](), list[str]()
    # what a repair and a longer length were taken against, each of them has: the length may be set otherwise later
    for cure, codes in taken:
        if isinstance(cure, Fix) and cure.repairs:
            for name in cure.repairs:
                cures.setdefault(_words(before, name), []).extend(codes)
            if not cure.changes:
                continue
            cure = in_keys(before, replace(cure, repairs=()))
        changes = cure.changes if isinstance(cure, Fix) else ()
        lost = [one for one in changes if get(after, one.path) != one.after and not isinstance(one.after, Mapping)]
        waiting += codes
        if isinstance(cure, Fix) and cure.template and not of_trial(after):
            cure = in_keys(before, replace(cure, template=None))
        if not changes or len(lost) < len(changes):
            cures.setdefault(_words(before, cure), []).extend(waiting)
            waiting = []
    return [Cure(text, tuple(dict.fromkeys(its))) for text, its in cures.items()]


def _words(recipe: Recipe, cure: Fix | str) -> str:
    if isinstance(cure, str):
        return f"{cure}: {TITLES[cure]}"
    keys = "" if traits_of(recipe.preset).by_hand else cure.trainer_keys.get(recipe.trainer, "")
    return keys or cure.title


def _keys(before: Recipe, after: Recipe) -> Iterator[tuple[str, str, str]]:
    """What the trainer's config says otherwise under another recipe, or the recipe where it has none: key, before,
    after; "" for what is not said."""
    said = [(one.path, one.before, one.after) for one in diff(before, after)]
    if traits_of(before.preset).config:
        had = dict(keys_between(after, before))
        said = [(key, had[key], value) for key, value in keys_between(before, after)]
    for key, old, new in said:
        yield key, "" if old is GONE else value_text(old), "" if new is GONE else value_text(new)


def _with_template(planned: ExportPlan, other: Ready, place: Path) -> ExportPlan:
    """The files with the template that was tried among them."""
    if any(file.path.name == TEMPLATE_FILE for file in planned.files):
        return planned
    file = plan_file(place, other.prepared().template_source or "")
    return replace(planned, files=(*planned.files, file))


def put_in_force(
    plan: FixPlan, rows: Callable[[Path, Path], WriteProgress], check: Callable[[], AuditReport]
) -> FixOutcome:
    """Write a plan, the `rows` to their file and log first, and `check` what was written. SftuiError where either
    cannot be, and then nothing is left of it."""
    made, counts = FixOutcome(tuple(plan.cures), tuple(plan.left), plan.keys), None
    if not plan.files:
        return made
    refuse_half(plan.session)
    with all_or_none(plan.files):
        if plan.data is not None and plan.log is not None:
            now = rows(plan.data, plan.log)
            if now.lost:
                what = f"{many(now.lost, 'row')} could not be copied"
                raise ExportError(what, fix="drop them with --drop unreadable")
            counts = now.counts
        if plan.config is not None:
            plan.config.write(overwrite=True)
        after = check()
    diff = "".join(file.diff for file in plan.config.files) if plan.config is not None else ""
    files = tuple(map(str, plan.files))
    return replace(made, diff=diff, rows=counts, samples=tuple(_samples(plan)), files=files, after=after)


def _samples(plan: FixPlan) -> Iterator[RowSample]:
    """The first rows that are changed, once they are written."""
    if plan.log is None:
        return
    with open(plan.log, "rb") as lines:
        entries = (json.loads(line) for line in lines)
        for entry in islice((one for one in entries if one["changes"] and one["dropped"] is None), SAMPLES):
            row = plan.session.source.row(entry["row"])
            said = tuple(f"{one['place']}: {one['what']}".removeprefix(": ") for one in entry["changes"])
            before, after = row.raw, plan.session.over(row).raw
            same = next((at for at, (one, other) in enumerate(zip(before, after)) if one != other), 0)
            start = max(0, same - LEAD)
            yield RowSample(row.index, said, before[start : start + SHOWN], after[start : start + SHOWN])


MOST = 200
"""So many recipes are tried."""


def way_in(opened: OpenData) -> str:
    """What to set so that a set is read, in keys of the trainer's config, or in knobs where it has none; "" where
    nothing that was tried does."""
    fix = way_into(opened)
    keys = "" if fix is None else fix.trainer_keys[opened.requested.trainer]
    return keys if not keys or keys.startswith(("set ", "remove ")) else f"set {keys}"


def way_into(opened: OpenData) -> Fix | None:
    """The change of the recipe by which every row looked at is read and has an answer; None where none that was tried
    does."""
    recipe, rows = opened.requested, opened.sample
    said = set(losses_of(recipe))
    for _, other in zip(range(MOST), mappings(recipe, Detection("auto"), rows, lost=True)):
        if not said.issuperset(losses_of(other)) or not can_be_told(recipe, other):
            continue
        try:
            read = under(opened, other)
            early = (read.early(row) for row in rows if row.data is not None)
            if read.refused is None and all(_is_answered(row, other) for row in early):
                return fix_to(opened, other)
        except SftuiError:
            continue
    return None


def _is_answered(row: Inspection, recipe: Recipe) -> bool:
    """Whether a row is read, has an answer, and is not dropped before it is rendered."""
    conversation = row.conversation
    if row.problem is not None or conversation is None:
        return False
    trainer = trainer_of(recipe)
    if trainer.shape(conversation, recipe).dropped is not None:
        return False
    answering = trainer.traits.answering
    return bool(conversation.completion) or any(message.role in answering for message in conversation.messages)
