"""The notebook of this folder, run cell by cell in a kernel of its own; what it shows is what the commands give."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.notebook


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The code cells with their outputs; one that raises fails here."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.read(REPO / "tests" / "notebook" / "tour.ipynb", as_version=4)
    nbformat.validate(notebook)
    spec = folder / "kernels" / "own"
    spec.mkdir(parents=True)
    (spec / "kernel.json").write_text(
        f'{{"argv": ["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"],'
        ' "display_name": "own", "language": "python"}'
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("SFTUI_CACHE", str(folder / "cache"))
        patch.setenv("PYTHONPATH", str(REPO))
        nbclient.NotebookClient(
            notebook, timeout=240, kernel_name="own", resources={"metadata": {"path": str(Path(__file__).parent)}}
        ).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell: Any) -> dict[str, str]:
    """What a cell shows: text by its kind, and what it printed."""
    found: dict[str, str] = {}
    for output in cell.outputs:
        assert output.output_type != "error"
        if output.output_type == "stream":
            found[output.name] = found.get(output.name, "") + output.text
        else:
            found.update(output.data)
    return found


def cell_of(ran: list[Any], beginning: str) -> dict[str, str]:
    return next(shown(cell) for cell in ran if cell.source.startswith(beginning))


def test_every_cell_ran(ran: list[Any]) -> None:
    assert [cell.execution_count for cell in ran] == list(range(1, len(ran) + 1))
    for cell in ran:
        if "sftui" in cell.source and "dataset" not in cell.source and "transformers" not in cell.source:
            assert "stderr" not in shown(cell), cell.source


def test_rows_and_reports_show_themselves(ran: list[Any]) -> None:
    for beginning in ("data[9]", "report = data.check()"):
        markup = cell_of(ran, beginning)["text/html"]
        assert markup.startswith('<div class="sftui">') and "This output holds text of the data" in markup
    assert "43 rows" in cell_of(ran, "report = ")["text/html"]


def test_what_it_says_is_what_the_commands_say(ran: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    from sftui.cli import main

    opening = f"{REPO / 'sample_data' / 'chat_messages.jsonl'} -t builtin:chatml --trainer trl --max-length 2048"

    def by_command(command: str, *more: str) -> Any:
        with pytest.raises(SystemExit):
            main([command, *opening.split(), *more, "--format", "json"])
        return json.loads(capsys.readouterr().out)

    told = by_command("show", "--row", "9", "--explain")
    last = list(zip(told["tokens"], told["input_ids"], told["labels"], told["reasons"]))[-6:]
    assert "".join(cell_of(ran, "row = data[9]")["text/plain"].split()) == "".join(repr(last).split())
    assert cell_of(ran, "from transformers")["text/plain"] == "True"
    assert "num_rows: 43" in cell_of(ran, "encoded = ")["text/plain"]
    assert cell_of(ran, "data.close()")["stdout"].strip() == "the data is closed; open it again"
    counts = by_command("check")["counts"]
    assert cell_of(ran, "try:")["stdout"].startswith(f"{counts['error']} errors, {counts['warning']} warnings")
