"""The recorder in real processes, over a stand-in for torch: what it takes, and that nothing of a run goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from capture_runs import LOOP, Capture

from sftui.capture import RECORDER, run
from sftui.errors import SftuiError

STEPS = """
for batch in loader:
    model(**batch)
    optimizer.step()
"""


def test_the_first_batch_is_the_models_and_the_others_its_loaders(capture: Capture) -> None:
    outcome, found, marker = capture(STEPS)
    assert (outcome.why, outcome.code, marker) == ("step", None, "")
    assert [row.input_ids[0] for row in found.rows] == [10, 20, 30, 40, 50, 60]
    assert [row.source for row in found.rows] == ["model"] * 2 + ["loader"] * 4
    assert {row.columns["labels"][0] for row in found.rows} == {-100}
    assert found.about["batches"][0]["module"] == "Model"


def test_all_batches_before_the_first_step_are_the_models(capture: Capture) -> None:
    outcome, found, _ = capture("""
for number, batch in enumerate(loader):
    model(**batch)
    if number % 4 == 3:
        optimizer.step()
""")
    assert outcome.why == "enough"
    assert [one["from"] for one in found.about["batches"]] == ["model"] * 3


@pytest.mark.parametrize("caught", ["Exception", "BaseException"])
def test_no_handler_of_the_run_goes_on(capture: Capture, caught: str) -> None:
    _, found, marker = capture(f"""
import atexit
write = open(sys.argv[1], "a").write
atexit.register(write, "atexit\\n")
try:
    for batch in loader:
        try:
            model(**batch)
            optimizer.step()
        except {caught}:
            write("caught\\n")
            super(Marked, optimizer).step
finally:
    write("finally\\n")
""")
    assert len(found.rows) == 6
    assert marker == ""


def test_a_step_that_is_wrapped_or_overridden_is_not_made(capture: Capture) -> None:
    _, _, marker = capture("""
class Later(Marked):
    def step(self):
        open(sys.argv[1], "a").write("later\\n")
        super().step()
later = Later(model.parameters())
wrapped = later.step
for batch in loader:
    model(**batch)
    wrapped()
""")
    assert marker == ""


def test_weights_written_by_hand_end_the_run(capture: Capture) -> None:
    outcome, found, _ = capture("""
for batch in loader:
    model(**batch)
    model.weight.write()
""")
    assert outcome.why == "updated"
    assert [one["from"] for one in found.about["batches"]] == ["model", "loader", "loader"]


def test_labels_that_the_loss_alone_sees(capture: Capture) -> None:
    _, found, _ = capture("""
for row in ROWS:
    ids = torch.Tensor([row])
    model(ids)
    torch.nn.functional.cross_entropy(None, torch.Tensor([*row[1:]]).reshape(3), ignore_index=-1)
    if row is ROWS[2]:
        optimizer.step()
""")
    assert [row.labels_from for row in found.rows] == ["loss"] * 3
    assert found.rows[0].columns["labels"] == (11, 12, 13, -100)


def test_labels_of_the_loader_where_the_model_gets_none(capture: Capture) -> None:
    _, found, _ = capture("""
for batch in loader:
    labels = batch.pop("labels")
    model(batch["input_ids"][:, :-1])
    torch.nn.functional.cross_entropy(None, torch.Tensor([row[1:] for row in labels.values]).reshape(6))
    optimizer.step()
""")
    assert found.rows[0].input_ids == (10, 11, 12, 13)
    assert found.rows[0].columns["labels"] == (-100, 11, 12, 13)
    assert found.about["batches"][0]["labels_from"] == "loader"
    assert found.about["batches"][0]["loss_takes"] == "next"


def test_a_loss_that_nobody_shifts_for_is_told(capture: Capture) -> None:
    _, found, _ = capture("""
for batch in loader:
    model(**batch)
    torch.nn.functional.cross_entropy(None, torch.Tensor([*map(list, batch["labels"].values)]).reshape(8))
    optimizer.step()
""")
    assert found.about["batches"][0]["loss_takes"] == "same"


def test_no_labels_at_all(capture: Capture) -> None:
    _, found, _ = capture("""
for row in ROWS:
    model(torch.Tensor([row]))
optimizer.step()
""")
    assert {row.labels_from for row in found.rows} == {None}
    assert "labels" not in found.rows[0].columns


def test_what_is_no_training_step_is_passed_over(capture: Capture) -> None:
    _, found, _ = capture(
        """
model.table(torch.Tensor([[1, 2]]))
model.training = False
model(torch.Tensor([[3, 4]]))
model.training = True
torch._grad[0] = False
model(torch.Tensor([[5, 6]]))
torch._grad[0] = True
torch._traced[0] = True
model(torch.Tensor([[9, 9]]))
torch._traced[0] = False
model(labels=torch.Tensor([[7, 8]]))
"""
        + STEPS
    )
    assert found.rows[0].input_ids[0] == 10


def test_without_a_model_the_loader_is_the_end(capture: Capture) -> None:
    outcome, found, marker = capture(
        """
def evaluate():
    for batch in DataLoader([[1, 2]], collate_fn=collate):
        pass
evaluate()
for batch in loader:
    open(sys.argv[1], "a").write("given\\n")
""",
        no_model=True,
    )
    assert (outcome.why, marker) == ("loader", "")
    assert [row.input_ids[0] for row in found.rows] == [10, 20, 30, 40, 50, 60]
    assert {row.source for row in found.rows} == {"loader"}


def test_sequences_are_cut_on_request(capture: Capture) -> None:
    _, found, _ = capture(STEPS, clip=3, batches=1)
    row = found.rows[0]
    assert (row.input_ids, row.columns["labels"], row.clipped) == ((10, 11, 12), (-100, 11, 12), 4)


def test_packs_keep_their_lengths_and_positions(capture: Capture) -> None:
    _, found, _ = capture("""
ids = torch.Tensor([[1, 2, 3, 4, 5]])
model(input_ids=ids, labels=ids, position_ids=torch.Tensor([[0, 1, 2, 0, 1]]))
def forward(input_ids=None, labels=None, cu_seq_lens_q=None): return 0.0
model.forward = forward
model(input_ids=ids, labels=ids, cu_seq_lens_q=torch.Tensor([0, 3, 5]))
optimizer.step()
""")
    assert found.rows[0].columns["position_ids"] == (0, 1, 2, 0, 1)
    assert found.rows[1].columns["seq_lengths"] == (3, 2)


RANKS = """
import os, subprocess, time
if "RANK" not in os.environ:
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, "RANK": str(rank)},
             start_new_session=True) for rank in (1, 0)]
    try:
        ended = [one.wait() for one in ranks]
    finally:
        open(sys.argv[1], "a").write("launcher\\n")
    sys.exit(max(ended))
if os.environ["RANK"] == "0":
    time.sleep(0.4)
for batch in list(loader)[int(os.environ["RANK"])::2]:
    model(**batch)
    optimizer.step()
"""


def test_of_several_ranks_the_first_records_and_none_steps(capture: Capture) -> None:
    _, found, marker = capture(RANKS, batches=1)
    assert [row.input_ids[0] for row in found.rows] == [10, 20]
    assert marker == ""


def test_torch_is_found_however_late_it_is_imported(stub: None, tmp_path: Path) -> None:
    script, folder = tmp_path / "late.py", tmp_path / "run"
    script.write_text(
        f"import threading\ndef main():\n    exec({LOOP + STEPS!r}, globals())\n"
        "thread = threading.Thread(target=main)\nthread.start()\nthread.join()\n"
    )
    folder.mkdir()
    outcome = run([sys.executable, str(script), str(tmp_path / "m")], folder, batches=1, no_model=False, clip=None)
    assert outcome.why == "enough"


def test_the_users_own_sitecustomize_runs_and_the_recorders_folder_is_hidden(
    capture: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import builtins\nbuiltins.customized = True\n")
    import os

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(own), os.environ["PYTHONPATH"])))
    _, found, marker = capture(
        f"""
import sitecustomize
open(sys.argv[1], "a").write(f"{{customized}} {{sitecustomize.__file__}} {{{str(RECORDER)!r} in sys.path}}\\n")
"""
        + STEPS
    )
    assert found.rows
    assert marker == f"True {own / 'sitecustomize.py'} False\n"


@pytest.mark.parametrize(
    "code, python, why",
    [
        ("optimizer.step()", (), "the first optimizer step was reached, and no module had been called"),
        ("sys.exit(3)", (), "no training step was reached, and the command ended with code 3"),
        (STEPS, (sys.executable, "-I", "-c", "pass"), "no Python with the recorder was started"),
        (STEPS, (sys.executable, "-c", "pass"), "torch was not imported, and the command ended with code 0"),
    ],
)
def test_why_nothing_was_captured(capture: Capture, code: str, python: tuple[str, ...], why: str) -> None:
    outcome, found, marker = capture(code, python=python)
    assert not found.rows
    assert outcome.nothing().startswith(why)
    assert marker == ""


def test_a_run_that_ends_by_itself_gives_what_it_had(capture: Capture) -> None:
    outcome, found, _ = capture("model(**next(iter(loader)))\nraise SystemExit(5)")
    assert (outcome.why, outcome.code) == ("", 5)
    assert len(found.rows) == 2


def test_a_recorder_that_fails_ends_the_run(capture: Capture) -> None:
    outcome, _, marker = capture("torch.Tensor.tolist = None\n" + STEPS)
    assert outcome.why == "failed"
    assert "a bug of sftui" in outcome.nothing()
    assert marker == ""


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with pytest.raises(SftuiError, match="nowhere/python could not be started, because no such file"):
        run([str(tmp_path / "nowhere/python")], folder, batches=1, no_model=False, clip=None)


def test_nothing_is_compiled_beside_the_files_of_the_run(capture: Capture, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("VALUE = 1\n")
    capture("import mine\n" + STEPS)
    assert not (tmp_path / "__pycache__").exists()
    assert not (RECORDER / "__pycache__" / "sitecustomize.cpython-39.pyc").exists()


def test_the_recorder_needs_nothing_but_python_3_9() -> None:
    """Its files are read by the grammar of 3.9, and import nothing but the standard library and torch."""
    import ast

    for file in (RECORDER / "sitecustomize.py", RECORDER / "sftui_recorder.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 9))
        names = {
            name.partition(".")[0]
            for node in ast.walk(tree)
            for name in (
                [one.name for one in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        assert names <= {*sys.stdlib_module_names, "torch", "sftui_recorder"}
    done = subprocess.run([sys.executable, "-c", "import sftui_recorder"], cwd=RECORDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
