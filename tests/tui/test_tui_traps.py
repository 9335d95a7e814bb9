"""The traps of style-anchors section 3.0, each by its name (T4, T7 and T8 also in tests/terminal)."""

from __future__ import annotations

import ast
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from rich.style import Style
from rows_worker import RowsWorker, Spelling, write_chats
from textual.geometry import Region
from textual.widget import Widget
from tui_driver import running

from sftui.tui.commands.copying import OSC52_LIMIT, copy_for_editor, copy_out, editor, write_out
from sftui.tui.themes import PALETTES, Styles
from sftui.views.cells import Over, Role
from sftui.workspace import OpenOptions
from sftui.workspace import events as ev

TUI = Path(__file__).resolve().parents[2] / "sftui" / "tui"
HOSTILE = [
    ("[/INST] [b]x[/b] [@click=app.quit]quit[/] [red", "\x1b[31mred\x1b[0mtitle\x07 \x1b[4mcopy\x07 \x9b31m"),
    ("\u202eevil\u202c \u200b\u200d\ufeff", "\x00\x07\x08\x7f\ud800 ok"),
    ("{{ 7*7 }} {% generation %}", "[/] \\[ [[ ]] [link=file:///etc/passwd]x[/link]"),
]


def hostile(folder: Path) -> OpenOptions:
    return OpenOptions((write_chats(folder / "train.jsonl", 2 * HOSTILE),))


async def test_T1_markup_in_data_is_text_everywhere(tmp_path: Path) -> None:
    """No pane, prompt, dialog or bar hands data to a markup parser."""
    async with running((140, 45), options=hostile(tmp_path)) as driven:
        for _ in range(3):
            for keys in (
                ("z",),
                ("s",),
                ("o",),
                ("o",),
                ("o",),
                ("o",),
                ("O", "e"),
                ("O", "e"),
                ("B",),
                ("B",),
                ("enter",),
                ("escape",),
            ):
                await driven.press(*keys)
            await driven.press("home", "]")
        await driven.press("g", *"[/INST]", "enter")
        assert "[/INST] is not a row number" in driven.text
        await driven.press("escape", "/", *"[/INST] [b", "enter")
        assert driven.app.is_running
        await driven.press("c", "T", "end", "enter", *"[/x]", "enter")
        assert "[/x]" in driven.text and driven.app.is_running


def test_T1_no_source_file_builds_markup() -> None:
    """Textual's own text widgets parse markup by default: none of them is built here, nor a toast shown."""
    forbidden = {
        "Static",
        "Label",
        "Text",
        "notify",
        "from_markup",
        "Markdown",
        "DataTable",
        "OptionList",
        "RichLog",
        "Log",
    }
    for path in TUI.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                assert name not in forbidden, f"{path.name}:{node.lineno} calls {name}"
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                assert node.attr not in (
                    "border_title",
                    "border_subtitle",
                    "tooltip",
                    "placeholder",
                ), f"{path.name}:{node.lineno}"


async def test_T2_no_control_character_reaches_a_cell(tmp_path: Path) -> None:
    async with running((140, 45), options=hostile(tmp_path)) as driven:
        for keys in (
            ("z",),
            ("z",),
            ("o",),
            ("o",),
            ("o",),
            ("escape", "]", "enter"),
            ("escape", "o"),
            ("O", "e"),
            ("escape", "x", "escape"),
        ):
            text = await driven.press(*keys)
            bad = [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co")]
            assert not bad, [hex(ord(c)) for c in bad]


async def test_T3_stale_results_never_overwrite_newer_ones() -> None:
    worker = RowsWorker()
    async with running(worker=worker) as driven:
        worker.hold = True
        await driven.press("3", "]")
        await driven.press("4", "]")
        rows = [event for event in worker.held if isinstance(event, ev.RowReady)]
        assert [event.inspection.row.index for event in rows] == [3, 7]
        worker.release(*(worker.held.index(event) for event in reversed(rows)))
        await driven.settle()
        assert driven.main.panes.tokens.inspection is not None
        assert driven.main.panes.tokens.inspection.row.index == 7 == driven.main.state.status.row


async def test_T3_answers_of_an_older_recipe_are_dropped() -> None:
    worker = RowsWorker()
    async with running(worker=worker) as driven:
        worker.hold = True
        await driven.press("]")
        old = list(worker.held)
        worker.held.clear()
        driven.workspace.change("mask.rule", "all")
        worker.release()
        await driven.settle()
        trained = driven.main.state.status.trained
        for event in old:
            driven.main.heard(event)
        await driven.settle()
        assert driven.main.state.status.trained == trained == driven.main.state.status.total


async def test_T3_a_row_that_is_late_is_not_shown_under_another_number() -> None:
    worker = RowsWorker()
    async with running(worker=worker) as driven:
        worker.hold = True
        await driven.press("5", "]")
        await driven.pilot.pause(0.3)
        assert "row 5 …" in driven.text and "lens" not in driven.text
        worker.release()
        await driven.settle()
        assert "row 5 …" not in driven.text


async def test_T5_no_color_leaves_no_invisible_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    for theme in PALETTES:
        async with running(theme=theme) as driven:
            filters = driven.app.get_line_filters()
            assert len(filters) == 1
            for strip in driven.app.screen._compositor.render_strips():
                for segment in strip.apply_filter(filters[0], driven.app.screen.background_colors[1]):
                    style = segment.style or Style()
                    assert style.color is None or style.color.is_default
                    assert style.bgcolor is None or style.bgcolor.is_default
                    assert not style.conceal


def test_T6_meaning_never_hangs_on_colour_alone() -> None:
    """In the mono theme what matters differs by attribute; the glyph row says it besides."""
    look = Styles("mono")

    def attributes(role: Role, over: Over = Over.NONE) -> tuple[object, ...]:
        style = look.of(role, over)
        return (style.bold, style.dim, style.underline, style.reverse, style.strike, style.italic)

    assert attributes(Role.TRAINED) != attributes(Role.MASKED)
    assert attributes(Role.SPECIAL) != attributes(Role.MASKED)
    assert attributes(Role.CUT) != attributes(Role.MASKED)
    for role in Role:
        assert attributes(role) != attributes(role, Over.CURSOR)
        assert attributes(role) != attributes(role, Over.HIT)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_T7_colours_survive_256_colours(theme: str) -> None:
    """Surfaces are neutral grey, and every colour is a point of the xterm cube or of its grey ramp."""
    from rich.color import Color, ColorSystem

    palette = PALETTES[theme]
    for name in ("back", "bar"):
        r, g, b = (int(palette[name][i : i + 2], 16) for i in (1, 3, 5))
        assert max(r, g, b) - min(r, g, b) <= 0.15 * max(r, g, b)
    grounds = {Color.parse(palette[n]).downgrade(ColorSystem.EIGHT_BIT).number for n in ("back", "bar")}
    assert len(grounds) == 2 and not grounds & {0, 16, 17}
    for name in palette.keys() - {"learnt"}:
        colour = Color.parse(palette[name])
        seen = colour.downgrade(ColorSystem.EIGHT_BIT).get_truecolor()
        assert max(abs(a - b) for a, b in zip(seen, colour.get_truecolor())) <= 10, f"{name} shifts in 256 colours"
    quiet = Color.parse(palette["learnt"]).downgrade(ColorSystem.EIGHT_BIT)
    r, g, b = quiet.get_truecolor()
    assert quiet.number not in {*grounds, 0, 16} and b > max(r, g), "the ground of what is trained stays blue"


@pytest.mark.parametrize("theme", ["dark", "light", "contrast"])
def test_text_has_contrast(theme: str) -> None:
    def luminance(value: str) -> float:
        parts = [int(value[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    palette = PALETTES[theme]
    for name in ("text", "muted", "trained", "special", "accent", "warning", "error"):
        for ground in ("back", "bar"):
            a, b = sorted((luminance(palette[name]), luminance(palette[ground])))
            assert (b + 0.05) / (a + 0.05) >= 4.0, f"{name} on {ground}"
    a, b = sorted((luminance(palette["text"]), luminance(palette["learnt"])))
    assert (b + 0.05) / (a + 0.05) >= 7.0, "what is trained is read best"
    for name in ("system", "user", "assistant", "tool"):
        a, b = sorted((luminance(palette[name]), luminance(palette["back"])))
        assert (b + 0.05) / (a + 0.05) >= 4.0, name


def test_T8_copy_says_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    said = copy_out("héllo", sent.append, {})
    assert sent == ["\x1b]52;c;aMOpbGxv\x07"] and "OSC 52" in said and "Copied" not in said and "copied" not in said
    sent.clear()
    said = copy_out("x" * (OSC52_LIMIT + 1), sent.append, {})
    assert not sent and "file" in said


def test_T8_inside_tmux_the_buffer_is_tmux_own(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[list[str], bytes]] = []

    def run(arguments: list[str], *, input: bytes, **rest: object) -> subprocess.CompletedProcess[bytes]:  # noqa: A002
        calls.append((arguments, input))
        return subprocess.CompletedProcess(arguments, 0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    sent: list[str] = []
    said = copy_out("text", sent.append, {"TMUX": "/tmp/tmux-0/default,1,0"})
    assert calls == [(["tmux", "load-buffer", "-w", "-"], b"text")] and not sent and "tmux" in said


async def test_T10_strips_are_cached_and_dropped_with_the_theme() -> None:
    async with running() as driven:
        pane = driven.main.panes.tokens
        assert len(pane.strips) > 5
        held = {id(strip) for strip in (pane.strips.get(line) for line in pane._shown) if strip is not None}
        pane.render_line(0)
        assert {id(strip) for strip in (pane.strips.get(line) for line in pane._shown) if strip is not None} == held
        before = pane.render_line(1)._segments[-1].style
        await driven.press(":", *"theme", "enter")
        assert pane.render_line(1)._segments[-1].style != before
        pane.notify_style_update()
        assert len(pane.strips) == 0


@pytest.mark.parametrize("theme", ["dark", "ansi", "mono"])
@pytest.mark.parametrize("in_ascii", [False, True])
async def test_T10_lines_painted_before_are_what_textual_would_paint(
    theme: str, in_ascii: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pane keeps its lines itself: no style sheet draws over them, and what filters make of them is kept, too."""
    if theme == "mono":
        monkeypatch.setenv("NO_COLOR", "1")
    async with running(theme=theme, size=(140, 45), in_ascii=in_ascii) as driven:
        for keys in (("l",), ("s",), ("z",), ("]",), (*":theme", "enter"), ("f",), ("tab",)):
            await driven.press(*keys)
            for pane in driven.main.drawn():
                if pane.display and pane.size:
                    width, height = pane.size
                    for crop in (pane.size.region, Region(1, height // 2, width - 3, height - height // 2)):
                        assert pane.render_lines(crop) == Widget.render_lines(pane, crop), (keys, pane)
            painted = [strip for pane in driven.main.drawn() for strip in pane.render_lines(pane.size.region)]
            again = [strip for pane in driven.main.drawn() for strip in pane.render_lines(pane.size.region)]
            assert painted and all(a is b for a, b in zip(painted, again, strict=True))


async def test_T11_no_glyph_shifts_a_column(tmp_path: Path) -> None:
    """Every line of the grid is as wide for Rich as for the terminal's own table of widths."""
    wcwidth = pytest.importorskip("wcwidth")
    odd = [("❤️ नमस्ते 👩‍👩‍👧 🇫🇷 ① ─ ﷽ ᄒ\u1161\u11ab", "é e\u0301 Z\u0351\u0352\u0353 ✈️ 각 한 ｆ ㊗️ 1️⃣")]
    options = OpenOptions((write_chats(tmp_path / "train.jsonl", odd),))
    async with running((140, 30), Spelling(" ".join(odd[0]).split(" ")), options=options) as driven:
        for _ in range(3):
            await driven.press("z")
            from rich.cells import cell_len

            for line in driven.lines:
                assert wcwidth.wcswidth(line) == cell_len(line), line
                assert cell_len(line) <= 140


def test_T12_nothing_heavy_is_imported() -> None:
    """Long texts and tokenizers live in the worker; the interface never loads what would stall it."""
    code = (
        "import sys, sftui.tui.app\nheavy = {'transformers', 'torch', 'datasets', 'pyarrow', 'tokenizers', 'jinja2',"
        " 'numpy', 'huggingface_hub', 'ruamel'}\nprint(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=TUI.parents[1])
    assert done.stdout.strip() == "[]"


def test_the_package_is_lazy() -> None:
    code = (
        "import sys, sftui.tui, sftui.tui.state, sftui.tui.arrangement, sftui.tui.keys\n"
        "print('textual' in sys.modules, 'rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=TUI.parents[1])
    assert done.stdout.strip() == "False False"


def test_files_are_written_atomically_and_never_over_others_unasked(tmp_path: Path) -> None:
    from sftui.errors import ExportError
    from sftui.session.inputs import Inputs

    target = tmp_path / "ids.json"
    assert "wrote" in write_out("[1]", str(target), Inputs(()))
    with pytest.raises(ExportError):
        write_out("[2]", str(target), Inputs(()))
    assert target.read_text() == "[1]"
    write_out("[2]", f"{target}!", Inputs(()))
    assert target.read_text() == "[2]" and len(list(tmp_path.iterdir())) == 1


def test_the_editor_is_the_users_own() -> None:
    from sftui.errors import SftuiError

    assert editor({"VISUAL": f"{sys.executable} -u", "EDITOR": "nothing"}) == [sys.executable, "-u"]
    assert editor({"EDITOR": sys.executable}) == [sys.executable]
    with pytest.raises(SftuiError, match=r"not-there"):
        editor({"EDITOR": "not-there"})
    with pytest.raises(SftuiError):
        editor({"EDITOR": "'"})


def test_the_copy_for_the_editor_goes_away_whatever_happens() -> None:
    kept: list[Path] = []
    with pytest.raises(RuntimeError), copy_for_editor("text", "row.txt", False) as path:
        kept.append(path)
        assert path.read_text() == "text" and path.stat().st_mode & 0o222 == 0
        raise RuntimeError
    assert not kept[0].parent.exists()
