"""A finding's fix, applied to the recipe and held against the real, installed trainer (marker parity).

For each trainer one finding that its own key repairs: after the fix it is gone, no error came, labels changed
only where the finding is about, and the trainer, given the config of the fixed recipe, makes the same rows.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from case import python_of

from sftui import trainers
from sftui.cli.loading import loaded_session
from sftui.findings import DatasetChecks, Finding, Severity, check_row, check_setup
from sftui.findings.look import Look, Turn
from sftui.model import Inspection
from sftui.recipe import Recipe, changed, get
from sftui.trainers.verify.session import ask, read_result
from sftui.workspace.options import OpenOptions
from sftui.workspace.session import Session
from sftui.workspace.verifying import verify

pytestmark = pytest.mark.parity
ROUNDS = [("user", "What is 2+2?"), ("assistant", "The answer is 4."), ("user", "And 3 more?"), ("assistant", "That makes seven.")]
BRIEF = [("system", "Be kind."), ("user", "hi"), ("assistant", "Hello there.")]
TAGGED = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' %}"
    "{% generation %}{{ m.content + '<|im_end|>' }}{% endgeneration %}{% else %}{{ m.content + '<|im_end|>' }}{% endif %}"
    "{{ '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


@dataclass(frozen=True)
class Broken:
    """A setting that raises `code`; its fix turns `knob`, and only tokens of `place` may get another label.

    `place` is answers (their text and turn end), stops (their turn end) or others (all but the answers).
    """

    version: str
    code: str
    knob: str
    place: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    template: str | None = None


BROKEN = {
    "trl": Broken("1.16.0", "LAB002", "mask.rule", "others", template=TAGGED),
    "axolotl": Broken("0.19.0", "EOS004", "mask.options", "stops", {"tokenizer.eos_token": "<|endoftext|>"}),
    "llamafactory": Broken("0.9.5", "LAB009", "mask.turns", "answers", {"render.template": "llamafactory/qwen", "mask.turns": "last"}),
    "unsloth": Broken("2026.10.7", "LAB002", "mask.rule", "others"),
    "torchtune": Broken("0.6.1", "EOS006", "length.max", "stops", {"length.max": 200}),
}


def opened(folder: Path, trainer: str, broken: Broken) -> Session:
    """Our own rows under the trainer's preset with the case's knobs."""
    data = folder / "chats.jsonl"
    rows = [[(role, f"{text} {n}") for role, text in turns] for n in range(3) for turns in (ROUNDS, BRIEF)]
    data.write_text("".join(json.dumps({"messages": [{"role": role, "content": text} for role, text in row]}) + "\n" for row in rows))
    recipe = trainers.preset(f"{trainer}@{broken.version.rpartition('.')[0]}")
    for path, value in broken.changes.items():
        recipe = changed(recipe, path, value)
    if broken.template is not None:
        (folder / "chat_template.jinja").write_text(broken.template)
        recipe = changed(recipe, "render.template", f"file:{folder / 'chat_template.jinja'}")
    return loaded_session(OpenOptions((str(data),), tokenizer="builtin:chatml", recipe=recipe))


def everything(session: Session) -> tuple[list[Inspection], list[Finding]]:
    """All rows, and all that is found: by row, of the set-up and of the dataset."""
    assert session.source is not None
    inspections = [session.inspect_row(row) for row in session.source.rows()]
    context = session.checks()
    found: list[Finding] = []
    dataset = DatasetChecks(context)
    for one in inspections:
        found += check_row(one, context)
        dataset.add(one)
    return inspections, [*found, *check_setup(context, inspections), *dataset.finish()]


def repaired(recipe: Recipe, finding: Finding, knob: str) -> Recipe:
    """The recipe with the finding's changes."""
    assert finding.fix is not None and finding.fix.template is None
    assert [change.path for change in finding.fix.changes] == [knob]
    for change in finding.fix.changes:
        assert get(recipe, change.path) == change.before
        recipe = changed(recipe, change.path, change.after)
    return recipe


def at(place: str, turns: tuple[Turn, ...], count: int) -> set[int]:
    """The tokens of a row whose label the fix may change."""
    answers = [turn for turn in turns if turn.role == "assistant"]
    if place == "stops":
        return {i for turn in answers for i in range(*turn.terminator)}
    # LLaMA-Factory's templates close an answer with its turn end and the line break behind it.
    behind = [max(turn.end, turn.separator[1]) if place == "answers" else turn.end for turn in answers]
    inside = {i for turn, end in zip(answers, behind) for i in range(turn.content[0], end)}
    return inside if place == "answers" else set(range(count)) - inside


def moved(before: Inspection, after: Inspection) -> set[int]:
    """The tokens whose label is another one; the ids must be the same."""
    assert before.tokens is not None and after.tokens is not None and before.labels is not None and after.labels is not None
    assert before.tokens.input_ids == after.tokens.input_ids
    return {i for i, pair in enumerate(zip(before.labels.labels, after.labels.labels)) if pair[0] != pair[1]}


def answered(trainer: str, python: Path, request: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The real trainer's result for a request; what it prints is shown where it gives none."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        answer = next(iter(ask(python, trainer, [request], errors)))
        if not Path(request["output"]).exists():
            errors.seek(0)
            pytest.fail(f"{answer['error']}: {errors.read()[-3000:]}")
    return read_result(Path(request["output"]))


@pytest.fixture
def session(tmp_path: Path, trainer: str) -> Iterator[Session]:
    session = opened(tmp_path, trainer, BROKEN[trainer])
    yield session
    session.close()


@pytest.mark.parametrize("trainer", BROKEN)
def test_a_fix_is_what_the_trainer_does(session: Session, trainer: str, capsys: pytest.CaptureFixture[str]) -> None:
    broken = BROKEN[trainer]
    python = python_of(trainer, broken.version)
    if not python.exists():
        pytest.skip(f"{trainer}@{broken.version} has no environment: run tests/parity/environments.py {trainer}")
    inspections, found = everything(session)
    finding = next(one for one in found if one.code == broken.code)

    recipe = repaired(session.recipe, finding, broken.knob)
    places = [at(broken.place, Look(one, session.checks()).turns, len(one.tokens or ())) for one in inspections]
    session.set_recipe(recipe)
    mended, left = everything(session)

    assert broken.code not in {one.code for one in left}
    assert not {one.code for one in left if one.severity is Severity.ERROR} - {one.code for one in found}
    differing = [moved(*pair) for pair in zip(inspections, mended)]
    assert any(differing) and all(some <= place for some, place in zip(differing, places)), (differing, places)

    verified = verify(session, range(len(mended)), lambda request: answered(trainer, python, request))
    assert not verified.differences and verified.refused is None, verified.sentences
    assert verified.units == len(mended)
    change = finding.fix.changes[0] if finding.fix is not None else None
    with capsys.disabled():
        print(f"\n{trainer} {broken.version}: {broken.code}, {broken.knob} {change and change.before!r} → {change and change.after!r}, "
              f"labels changed: {sum(map(len, differing))}, {verified.units} of {len(mended)} rows equal; notes: {verified.notes}")
