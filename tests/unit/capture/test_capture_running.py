"""The recorder in real processes, over a stand-in for torch: what it takes, and that nothing of a run goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from capture_runs import LOOP, Capture

from sftui.capture import RECORDER, CapturedRun, run
from sftui.capture.recorder.sftui_recorder import CaptureOptions
from sftui.errors import SftuiError

STEPS = """
for batch in loader:
    model(**batch)
    optimizer.step()
"""
TRAINED = """
for batch in loader:
    model(**batch).backward()
    optimizer.step()
"""


def begun(found: CapturedRun) -> list[tuple[int, str]]:
    """The first id of each batch of two rows, and where it was taken."""
    return [(row["input_ids"][0], row["captured_from"]) for row in found.rows[::2]]


def test_the_first_batch_is_the_models_and_the_others_its_loaders(capture: Capture) -> None:
    outcome, found, marker = capture(STEPS)
    assert (outcome.why, outcome.code, marker) == ("step", None, "")
    assert [row["input_ids"][0] for row in found.rows] == [10, 20, 30, 40, 50, 60]
    assert [row["captured_from"] for row in found.rows] == ["model"] * 2 + ["loader"] * 4
    assert {row["labels"][0] for row in found.rows} == {-100}
    assert found.about["batches"][0]["module"] == "Model"


def test_all_batches_before_the_first_step_are_the_models(capture: Capture) -> None:
    outcome, found, _ = capture("""
for number, batch in enumerate(loader):
    model(**batch).backward()
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


@pytest.mark.parametrize("written", ["write()", "values[0] += 1.0"])
def test_weights_written_by_hand_end_the_run(capture: Capture, written: str) -> None:
    outcome, found, _ = capture(f"""
for batch in loader:
    model(**batch).backward()
    model.weight.{written}
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
    assert [row["labels_from"] for row in found.rows] == ["loss"] * 3
    assert found.rows[0]["labels"] == (11, 12, 13, -100)


def test_labels_of_the_loader_where_the_model_gets_none(capture: Capture) -> None:
    _, found, _ = capture("""
for batch in loader:
    labels = batch.pop("labels")
    model(batch["input_ids"][:, :-1])
    torch.nn.functional.cross_entropy(None, torch.Tensor([row[1:] for row in labels.values]).reshape(6))
    optimizer.step()
""")
    assert found.rows[0]["input_ids"] == (10, 11, 12, 13)
    assert found.rows[0]["labels"] == (-100, 11, 12, 13)
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
    assert {row["labels_from"] for row in found.rows} == {None}
    assert "labels" not in found.rows[0]


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
    assert found.rows[0]["input_ids"][0] == 10


@pytest.mark.parametrize(
    "before",
    [
        "model(torch.Tensor([[0, 0, 0]]))",  # a warm-up
        "model(**next(iter(DataLoader(ROWS[6:], 2, collate))))\nmodel.weight.write()",  # a look, then a checkpoint
    ],
)
def test_a_call_that_no_backward_pass_goes_through_trains_nothing(capture: Capture, before: str) -> None:
    outcome, found, _ = capture(before + TRAINED)
    assert outcome.why == "step"
    assert begun(found) == [(10, "model"), (30, "loader"), (50, "loader")]


def test_a_teacher_beside_the_model_leaves_it_its_batches(capture: Capture) -> None:
    _, found, _ = capture("""
teacher = Model()
for batch in loader:
    teacher(torch.Tensor([row[::-1] for row in batch["input_ids"].values]))
    teacher(batch["input_ids"])
    model(**batch).backward()
    optimizer.step()
""")
    assert begun(found) == [(10, "model"), (30, "loader"), (50, "loader")]


def test_one_backward_pass_through_many_calls(capture: Capture) -> None:
    _, found, _ = capture("""
losses = [model(**batch) for batch in loader]
for loss in losses[::-1]:
    loss.backward()
optimizer.step()
""")
    assert begun(found) == [(10, "model"), (30, "model"), (50, "model")]


def test_a_training_step_that_is_compiled_runs_as_it_is_written(capture: Capture) -> None:
    outcome, found, marker = capture("""
@torch.compile(backend="eager")
def step(batch):
    model(**batch).backward()
    optimizer.step()
attend = torch.compile(lambda: open(sys.argv[1], "a").write("not as a model calls it"))
class Whole(Model):
    def forward(self, **batch):
        attend()
        return torch.Given()
model = Whole()
for batch in loader:
    step(batch)
""")
    assert (outcome.why, marker) == ("step", "")
    assert begun(found) == [(10, "model"), (30, "loader"), (50, "loader")]


@pytest.mark.parametrize("step", ["optimizer.step(closure)", "optimizer.step(closure=closure)"])
def test_a_training_step_that_the_optimizer_is_given(capture: Capture, step: str) -> None:
    outcome, found, marker = capture(f"""
class Stepped(Marked):
    def step(self, closure):
        open(sys.argv[1], "a").write("step\\n")
        closure()
optimizer = Stepped()
for batch in loader:
    def closure():
        model(**batch).backward()
    {step}
""")
    assert (outcome.why, marker) == ("step", "")
    assert [row["captured_from"] for row in found.rows] == ["model"] * 2 + ["loader"] * 4


def test_a_closure_after_the_loops_own_pass_is_no_second_batch(capture: Capture) -> None:
    _, found, _ = capture("""
for batch in loader:
    model(**batch).backward()
    optimizer.step(lambda: model(**batch).backward())
""")
    assert [row["input_ids"][0] for row in found.rows[::2]] == [10, 30, 50]


def test_an_optimizer_that_makes_itself_without_torchs(capture: Capture) -> None:
    outcome, _, marker = capture(
        """
class Own(torch.optim.Optimizer):
    def __init__(self, params): self.params = [*params]
    def step(self): open(sys.argv[1], "a").write("step\\n")
optimizer = Own(model.parameters())
"""
        + TRAINED
    )
    assert (outcome.why, marker) == ("step", "")


def test_an_optimizer_around_another_may_let_batches_gather(capture: Capture) -> None:
    outcome, found, marker = capture(
        """
class Around(torch.optim.Optimizer):
    def __init__(self, inner): self.inner, self.count = inner, 0
    def step(self):
        self.count += 1
        if self.count % 2 == 0:
            self.inner.step()
optimizer = Around(optimizer)
"""
        + TRAINED
    )
    assert (outcome.why, marker) == ("step", "")
    assert begun(found) == [(10, "model"), (30, "model"), (50, "loader")]


@pytest.mark.parametrize("end", ["os._exit(7)", "os.kill(os.getpid(), 9)"])
def test_a_run_that_is_ended_hard_gives_what_it_had(capture: Capture, end: str) -> None:
    outcome, found, _ = capture(f"""
import os
model(torch.Tensor([[0, 0]]))
for batch in list(loader)[:2]:
    model(**batch).backward()
{end}
""")
    assert outcome.code in (7, -9)
    assert [row["input_ids"][0] for row in found.rows] == [10, 20, 30, 40]


def test_a_signal_while_the_run_is_ended_wakes_nothing(capture: Capture) -> None:
    _, _, marker = capture("""
import signal
def handler(*given):
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    raise TimeoutError
signal.signal(signal.SIGALRM, handler)
given = Model.forward
def forward(*a, **k):
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    return given(*a, **k)
batches = list(loader)
for batch in batches:
    model(**batch)
    for _ in range(50):
        try:
            forward(model)
            optimizer.step()
        except TimeoutError:
            pass
""")
    assert marker == ""


def test_another_thread_makes_no_step_either(capture: Capture) -> None:
    _, found, marker = capture("""
import threading, time
def later():
    for _ in range(100):
        time.sleep(0.001)
        optimizer.step()
for batch in loader:
    model(**batch).backward()
    [threading.Thread(target=later).start() for _ in range(4)]
    optimizer.step()
""")
    assert found.rows and marker == ""


@pytest.mark.parametrize(
    "forward, call",
    [
        ("batch", "model(Batch(**batch))"),
        ("batch", "model((batch['input_ids'], batch['labels']))"),
        ("inputs", "model(inputs=batch)"),
        ("inputs, extra=None", "model(batch, extra=None)"),
    ],
)
def test_batches_that_are_one_argument(capture: Capture, forward: str, call: str) -> None:
    _, found, _ = capture(f"""
from dataclasses import dataclass
@dataclass
class Batch:
    input_ids: torch.Tensor
    labels: torch.Tensor
class Whole(Model):
    def forward(self, {forward}): return torch.Given()
model = Whole()
for batch in loader:
    {call}.backward()
    optimizer.step()
""")
    assert begun(found) == [(10, "model"), (30, "loader"), (50, "loader")]
    assert {row["labels"][0] for row in found.rows} == {-100}


TUPLES = """
def collate(rows):
    ids = torch.Tensor([list(row) for row in rows])
    return torch.Tensor([[1] * 4 for row in rows]), ids, torch.Tensor([[-100, *row[1:]] for row in rows])
loader = DataLoader(ROWS, 2, collate)
for mask, ids, labels in loader:
"""


def test_what_a_loader_without_names_gives_is_known_from_the_first_batch(capture: Capture) -> None:
    _, found, _ = capture(TUPLES + "    model(ids, labels, attention_mask=mask).backward()\n    optimizer.step()\n")
    assert [row["input_ids"][0] for row in found.rows[::2]] == [10, 30, 50]
    assert [row["labels"][1] for row in found.rows[::2]] == [11, 31, 51]
    assert [row["attention_mask"] for row in found.rows] == [(1, 1, 1, 1)] * 6


MASKS = {
    "numbers": [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]],
    "causal": [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]],
    "window": [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]],
    "both ways": [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]],
}


@pytest.mark.parametrize(
    ("kind", "numbers"), [("numbers", (1, 1, 2, 0)), ("causal", (1, 1, 1, 1)), ("window", None), ("both ways", None)]
)
@pytest.mark.parametrize("form", ["[[0.0 if on else -1e9 for on in row] for row in MASK]", "MASK"])
@pytest.mark.parametrize("axes", [3, 4])
def test_a_mask_of_every_position_against_each_other_is_kept_as_documents(
    capture: Capture, kind: str, numbers: tuple[int, ...] | None, form: str, axes: int
) -> None:
    """As LLaMA-Factory (0 where it sees), NeMo and torchtune (true where it sees) give it; another kind is not kept."""
    one = "[made]" if axes == 4 else "made"
    code = f"""
MASK = {MASKS[kind]}
made = {form}
for batch in loader:
    mask = torch.Tensor([{one} for _ in range(2)], "{"int64" if form == "MASK" else "float32"}")
    model(**batch, attention_mask=mask).backward()
    optimizer.step()
"""
    _, found, _ = capture(code, batches=1)
    assert [row.get("attention_mask") for row in found.rows] == [numbers] * 2


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("loss", ["cross_entropy", "nll_loss"])
def test_labels_of_such_a_loader_that_the_loss_alone_gets(capture: Capture, loss: str, shifted: bool) -> None:
    targets = "[row[1:] for row in labels.values]).reshape(6)" if shifted else "[*labels.values]).reshape(8)"
    _, found, _ = capture(f"""{TUPLES}
    given = model(ids)
    torch.nn.functional.{loss}(None, torch.Tensor({targets})
    given.backward()
    optimizer.step()
""")
    assert [row["labels_from"] for row in found.rows[::2]] == ["loader" if shifted else "loss", "loader", "loader"]
    own = [(-100, 11, 12, 13), (-100, 31, 32, 33), (-100, 51, 52, 53)]
    assert [row["labels"] for row in found.rows[::2]] == own


def test_embeddings_that_the_loop_makes_itself(capture: Capture) -> None:
    _, found, _ = capture("""
class Whole(torch.nn.Module):
    def forward(self, inputs_embeds, labels): return torch.Given()
whole, places = Whole(), torch.nn.Embedding()
for batch in loader:
    places(torch.Tensor([[0, 1, 2, 3]]))
    embedded = model.table(batch["input_ids"])
    whole(inputs_embeds=embedded, labels=batch["labels"])
    embedded.backward()
    optimizer.step()
""")
    assert [row["input_ids"][0] for row in found.rows[::2]] == [10, 30, 50]
    assert found.rows[0]["labels"] == (-100, 11, 12, 13)


def test_a_model_without_parts_has_weights(capture: Capture) -> None:
    _, found, _ = capture("""
class Loss(torch.nn.Module):
    def forward(self, x): return torch.Given()
class Whole(torch.nn.Module):
    def __init__(self): self.weight = torch.Parameter()
    def forward(self, x): return torch.Given()
whole = Whole()
for batch in loader:
    whole(batch["input_ids"]).backward()
    Loss()(torch.Tensor([[7, 7]])).backward()
    optimizer.step()
""")
    assert [row["input_ids"][0] for row in found.rows[::2]] == [10, 30, 50]


def test_a_loader_that_gives_nothing_more_is_not_waited_for(capture: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, found, _ = capture(
        """
import time
sys.modules["sftui_recorder"].SLOW = 0.2
def collate_slowly(rows):
    time.sleep(0 if rows[0][0] < 50 else 600)
    return collate(rows)
loader = DataLoader(ROWS, 2, collate_slowly)
"""
        + TRAINED
    )
    assert outcome.why == "step" and [row["input_ids"][0] for row in found.rows[::2]] == [10, 30]


def test_a_copy_of_the_process_is_ended_at_once_too(capture: Capture) -> None:
    _, found, marker = capture("""
import os, signal, time
write = open(sys.argv[1], "a").write
if os.fork() == 0:
    signal.signal(signal.SIGTERM, lambda *given: open(sys.argv[1], "a").write("terminated\\n"))
    for batch in loader:
        model(**batch).backward()
        optimizer.step()
    time.sleep(600)
os.wait()
write("waited\\n")
""")
    assert [row["input_ids"][0] for row in found.rows[::2]] == [10, 30, 50]
    assert marker == ""


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
    assert [row["input_ids"][0] for row in found.rows] == [10, 20, 30, 40, 50, 60]
    assert {row["captured_from"] for row in found.rows} == {"loader"}


def test_sequences_are_cut_on_request(capture: Capture) -> None:
    _, found, _ = capture(STEPS, clip=3, batches=1)
    row = found.rows[0]
    assert (row["input_ids"], row["labels"], row["length"]) == ((10, 11, 12), (-100, 11, 12), 4)


def test_packs_keep_their_lengths_and_positions(capture: Capture) -> None:
    _, found, _ = capture("""
ids = torch.Tensor([[1, 2, 3, 4, 5]])
model(input_ids=ids, labels=ids, position_ids=torch.Tensor([[0, 1, 2, 0, 1]]))
def forward(input_ids=None, labels=None, cu_seq_lens_q=None): return 0.0
model.forward = forward
model(input_ids=ids, labels=ids, cu_seq_lens_q=torch.Tensor([0, 3, 5]))
optimizer.step()
""")
    assert found.rows[0]["position_ids"] == (0, 1, 2, 0, 1)
    assert found.rows[1]["seq_lengths"] == (3, 2)


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
    assert [row["input_ids"][0] for row in found.rows] == [10, 20]
    assert marker == ""


def test_torch_is_found_however_late_it_is_imported(stub: None, tmp_path: Path) -> None:
    script, folder = tmp_path / "late.py", tmp_path / "run"
    script.write_text(
        f"import threading\ndef main():\n    exec({LOOP + STEPS!r}, globals())\n"
        "thread = threading.Thread(target=main)\nthread.start()\nthread.join()\n"
    )
    folder.mkdir()
    outcome = run([sys.executable, str(script), str(tmp_path / "m")], folder, CaptureOptions(1))
    assert outcome.why == "step"


def test_a_collator_inside_another_is_the_one_that_is_named(capture: Capture) -> None:
    _, found, _ = capture(
        """
class Around:
    data_collator = staticmethod(collate)
    def __call__(self, rows): return collate(rows)
loader = DataLoader(ROWS, 2, Around())
"""
        + TRAINED
    )
    assert found.about["collator"] == "__main__.collate"


def test_the_formatting_function_that_a_trainer_was_given_is_kept(capture: Capture, tmp_path: Path) -> None:
    """TRL's SFTTrainer has it as an argument only, and keeps it nowhere; transformers' Trainer begins after it."""
    package = tmp_path / "transformers"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "trainer.py").write_text("class Trainer:\n    def __init__(self, model=None): self.model = model\n")
    _, found, _ = capture(
        """
from transformers.trainer import Trainer
class SFTTrainer(Trainer):
    def __init__(self, model=None, formatting_func=None):
        super().__init__(model=model)
def as_text(row): return str(row)
assert SFTTrainer(3, as_text).model == 3
loader = DataLoader(ROWS, 2, collate)
"""
        + TRAINED
    )
    assert (found.about["formatting"], found.about["collator"]) == ("__main__.as_text", "__main__.collate")


def test_a_package_that_is_imported_by_another_name_is_known(
    capture: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, modules, made in (
        ("ms-swift", "swift\ntests\n", "swift"),
        ("trl", "trl\ntests\n", "tests"),
        ("torchtune", None, "torchtune"),
    ):
        info = tmp_path / "own" / f"{name.replace('-', '_')}-4.6.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 4.6\n")
        if modules is not None:
            (info / "top_level.txt").write_text(modules)
        (tmp_path / "own" / f"{made}.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path / "own"), os.environ["PYTHONPATH"])))
    _, found, _ = capture("import swift, tests, torchtune" + TRAINED, packages=("trl", "ms-swift", "torchtune", "verl"))
    assert {name: found.about["versions"].get(name) for name in ("trl", "ms-swift", "torchtune", "verl")} == {
        **{"trl": None, "ms-swift": "4.6", "torchtune": "4.6", "verl": None}
    }


def test_the_users_own_sitecustomize_runs_and_the_recorders_folder_is_hidden(
    capture: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import builtins\nbuiltins.customized = True\n")
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
        ("optimizer.step()", (), "the first optimizer step was reached, and no module had yet been called"),
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


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_python_without_the_recorder_is_ended_before_it_can_train(capture: Capture, tmp_path: Path) -> None:
    (tmp_path / "libtorch_python.so").write_bytes(b"mapped")
    code = f"import mmap, time; file = open({str(tmp_path / 'libtorch_python.so')!r}, 'rb')\n"
    code += "held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ); time.sleep(600)"
    outcome, _, marker = capture("", python=(sys.executable, "-I", "-c", code))
    assert outcome.nothing().startswith("a Python without the recorder imported torch; sftui stopped the run there")
    assert outcome.remedy().startswith("start Python without -I, -E and -S")
    assert marker == ""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_a_run_detaches_is_ended_with_it(capture: Capture, tmp_path: Path) -> None:
    _, found, _ = capture(
        """
import subprocess
one = subprocess.Popen(["sleep", "600"], start_new_session=True)
open("PID", "w").write(str(one.pid))
""".replace("PID", str(tmp_path / "pid"))
        + TRAINED
    )
    state = Path("/proc", (tmp_path / "pid").read_text(), "stat")
    assert found.rows
    assert not state.exists() or ") Z " in state.read_text()


def test_a_run_in_the_background_is_told(capture: Capture) -> None:
    outcome, _, _ = capture(
        """
import os, time
if os.fork() == 0:
    torch.optim.Optimizer()
    time.sleep(600)
time.sleep(0.3)
os._exit(0)
"""
    )
    assert (outcome.nothing(), outcome.remedy()) == (
        "no training step was reached, and the command ended with code 0 while the run was still going in the"
        " background",
        "run it in the foreground",
    )


def test_why_a_loader_gave_fewer(capture: Capture) -> None:
    outcome, found, _ = capture(
        """
def collate_two(rows):
    return collate(rows) if rows[0][0] < 50 else 1 / 0
loader = DataLoader(ROWS, 2, collate_two)
"""
        + TRAINED
    )
    assert (len(found.rows), outcome.missing()) == (4, "the data loader raised ZeroDivisionError")


def test_without_a_model_and_without_a_loader(capture: Capture) -> None:
    outcome, found, _ = capture("model(torch.Tensor([[1, 2]])).backward()\noptimizer.step()", no_model=True)
    assert not found.rows
    assert outcome.nothing(no_model=True).endswith("reached, and no torch data loader had yet returned integer ids")
    assert outcome.remedy(no_model=True) == ""


def test_a_run_that_ends_by_itself_gives_what_it_had(capture: Capture) -> None:
    outcome, found, _ = capture("model(**next(iter(loader)))\nraise SystemExit(5)")
    assert (outcome.why, outcome.code) == ("", 5)
    assert len(found.rows) == 2


def test_a_recorder_that_fails_ends_the_run(capture: Capture) -> None:
    outcome, _, marker = capture("torch.Tensor.tolist = None\n" + STEPS)
    assert outcome.why == "failed"
    assert "a bug in sftui" in outcome.nothing()
    assert marker == ""


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with pytest.raises(SftuiError, match="nowhere/python could not be started, because no such file"):
        run([str(tmp_path / "nowhere/python")], folder, CaptureOptions(1))


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
