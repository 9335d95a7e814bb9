"""A finding's fix, applied to the recipe or to the data and held against the real, installed trainer (marker parity).

First the trainer must make of the broken setting what sftui says it does. After the fix the finding is gone, none came,
labels changed only where the finding is about, and the trainer, given the config of the fixed recipe or the repaired
file, makes the same rows again: so the fix moved in the trainer what it moved here.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import environments
import pytest
from broken import Broken
from case import python_of
from trainers import having, module_of

sys.path.append(str(Path(__file__).parents[1] / "unit" / "findings"))
from fix_proof import changed_place, lost, moved, places_of

from sftui import trainers
from sftui.cli import main
from sftui.cli.loading import loaded_session
from sftui.findings import DatasetChecks, Finding, check_dataset, check_row, check_setup
from sftui.findings.look import RowLook
from sftui.model import Inspection
from sftui.recipe import Recipe, changed, diff, get
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, under
from sftui.session.verifying import Verification, through, verify
from sftui.trainers.verify.session import ask, read_result
from sftui.workspace.answers import tags
from sftui.workspace.requests import TagsRequest, answering

pytestmark = pytest.mark.parity
TOKENIZER = "builtin:chatml"


class Runners:
    """One process for each version of the trainer at hand; another trainer's ends them."""

    def __init__(self) -> None:
        self.trainer = ""
        self.waiting: Mapping[str, Any] = {}
        self.answers: dict[str, Iterator[dict[str, Any]]] = {}
        self.errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 — closed with this

    def ask(self, preset: str, request: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The real trainer's result; what it prints is shown where it gives none."""
        trainer = preset.partition("@")[0]
        if trainer != self.trainer:
            self.close()
            self.trainer = trainer
        self.waiting = request
        if preset not in self.answers:
            self.answers[preset] = ask(
                python_of(trainer, environments.version_of(preset)), trainer, self._requests(), self.errors
            )
        answer = next(self.answers[preset])
        if not Path(request["output"]).exists():
            self.errors.seek(0)
            pytest.fail(f"{answer['error']}: {self.errors.read()[-3000:]}")
        return read_result(Path(request["output"]))

    def _requests(self) -> Iterator[Mapping[str, Any]]:
        while True:
            yield self.waiting

    def close(self) -> None:
        for answers in self.answers.values():
            answers.close()  # type: ignore[attr-defined]
        self.answers.clear()


@pytest.fixture(scope="module")
def runners() -> Iterator[Runners]:
    made = Runners()
    yield made
    made.close()


def opened(broken: Broken, data: Path, folder: Path) -> Ready:
    """Rows under the trainer's preset with the case's knobs."""
    recipe = trainers.preset(broken.preset)
    for path, value in broken.changes.items():
        recipe = changed(recipe, path, value)
    if broken.template is not None:
        (folder / "broken.jinja").write_text(broken.template)
        recipe = changed(recipe, "render.template", f"file:{folder / 'broken.jinja'}")
    return loaded_session(OpenOptions((str(data),), recipe=changed(recipe, "tokenizer.name", TOKENIZER)))


def everything(session: Ready) -> tuple[list[Inspection], list[Finding]]:
    """All rows, and all that is found: by row, of the set-up and of the dataset."""
    inspections = [session.inspect_row(row) for row in session.rows()]
    context = session.checks()
    found: list[Finding] = []
    dataset = DatasetChecks(context)
    for one in inspections:
        found += check_row(one, context)
        dataset.add(RowLook(one, context))
    return inspections, [*found, *check_setup(context, inspections), *check_dataset(dataset)]


def fixed_recipe(session: Ready, finding: Finding, folder: Path) -> Recipe:
    """The recipe with the finding's changes, and with the template that the inspector would write for it."""
    fix, recipe = finding.fix, session.recipe
    assert fix is not None
    if fix.template is not None:
        done = [one for one in tags(session, answering(TagsRequest(1), 1)) if one is not None][-1]
        assert done.problem is None and done.proven, done.problem
        (folder / "chat_template.jinja").write_text(done.source, encoding="utf-8")
        recipe = changed(recipe, "render.template", f"file:{folder / 'chat_template.jinja'}")
    for change in fix.changes:
        assert get(session.recipe, change.path) == change.before
        recipe = changed(recipe, change.path, change.after)
    return recipe


def repaired_file(broken: Broken, data: Path) -> Path:
    """The file that `sftui repair` writes."""
    out = data.with_name("repaired.jsonl")
    assert broken.repair is not None
    said = [word for path, value in broken.changes.items() for word in ("--set", f"{path}={value}")]
    words = ["repair", str(data), "-t", TOKENIZER, "--trainer", broken.preset, *said]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--apply", broken.repair, "-o", str(out)])
    assert not ended.value.code
    return out


def verified(session: Ready, runners: Runners, count: int) -> Verification:
    """sftui and the real trainer on all rows; they must agree."""
    done = verify(session, range(count), lambda request: runners.ask(session.recipe.preset, request))
    assert not done.differences, done.sentences
    assert done.units or done.refused is not None
    return done


BROKEN = [broken for trainer in having("broken") for broken in module_of(trainer, "broken").BROKEN]


@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_a_fix_is_what_the_trainer_does(
    broken: Broken, runners: Runners, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = broken.preset.partition("@")[0]
    wanted = [
        one
        for one in (
            environments.version_of(broken.preset),
            environments.version_of(trainers.preset(trainer).preset) if "preset" in broken.knobs else "",
        )
        if one
    ]
    for version in wanted:
        if not python_of(trainer, version).exists():
            pytest.skip(f"{trainer}@{version} has no environment: run tests/parity/environments.py {trainer}")
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in broken.rows))
    session = opened(broken, data, tmp_path)
    try:
        before, found = everything(session)
        finding = next(one for one in found if one.code == broken.code)
        was, context, recipe = verified(session, runners, len(before)), session.checks(), session.recipe
        packs = through(before, recipe, context.tools).packs
        if broken.repair is None:
            session = under(session, fixed_recipe(session, finding, tmp_path)).ready()
        else:
            session.close()
            session = opened(broken, repaired_file(broken, data), tmp_path)
        turned = {change.path for change in diff(recipe, session.recipe)}
        assert set(broken.knobs) <= turned and (turned <= set(broken.knobs) or "preset" in turned), turned
        after, left = everything(session)

        assert broken.code not in {one.code for one in left}
        assert {one.code for one in left} - {one.code for one in found} <= set(broken.comes)
        touched = 0
        for number, (a, b) in enumerate(zip(before, after)):
            gone, came = moved(a, b)
            touched += len(gone | came)
            if lost(a):
                continue
            if broken.repair is not None:
                places = changed_place(a, b)
            else:
                own = [one for one in found if one.code == broken.code and one.row == number] or [
                    replace(finding, row=number)
                ]
                places = places_of(broken.places, (a, context, own), (b, session.checks(), own))
            assert gone <= places[0] and came <= places[1], (number, gone, came, places)
        now = verified(session, runners, len(after))
        assert now.refused is None
        assert (
            touched
            or packs != through(after, session.recipe, session.checks().tools).packs
            or context.facts != session.checks().facts
        )
    finally:
        session.close()
    with capsys.disabled():
        print(
            f"\n{trainer} {' → '.join(wanted)}: {broken.code} by {broken.repair or ', '.join(sorted(turned))}; tokens"
            f" moved: {touched}; before {'refused' if was.refused else f'{was.units} {was.unit}s'}, after {now.units}"
            f" {now.unit}s equal; notes: {now.notes}"
        )
