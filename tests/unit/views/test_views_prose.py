"""The row as one reads it: tags, white space where it decides something, and what the first line says of its end."""

from __future__ import annotations

from dataclasses import replace

import pytest
from inspections_by_hand import C, H, S, T, inspection

from sftui.model import Inspection, Part, Reason, RowSummary
from sftui.recipe import changed
from sftui.trainers import preset
from sftui.views.cells import plain
from sftui.views.draw import draw, draw_lens, token_of_flow
from sftui.views.grid import GridState, Zoom
from sftui.views.layout import gutter_width, lay_out
from sftui.views.strip import ends_of, sparks
from sftui.views.table import make_table
from sftui.views.words import what_is_chosen

Text = tuple[str, int, Part, int]


def shown(*texts: Text, cursor: int = -1, blanks: bool = False, special: tuple[int, ...] = ()) -> list[str]:
    """The lines of the text zoom without their gutter."""
    made = inspection(texts)
    written = replace(made.token_text, special=tuple(i in special for i in range(len(texts))))
    table = make_table(replace(made, token_text=written))
    layout = lay_out(table, Zoom.TEXT, False, 80)
    state = GridState(Zoom.TEXT, cursor=cursor, width=80, height=20, blanks=blanks)
    return [text[gutter_width(80) :] for text in plain(draw(table, layout, state)).splitlines()]


PROSE = tuple((text, 0, C, 0) for text in ("To", " be", " or", "\n", "  not", " to  be", "\n\n", "end"))


def test_white_space_shows_only_where_it_decides_something() -> None:
    assert shown(*PROSE) == ["To be or", "  not to␣␣be⏎⏎", "end"], "doubled, but for an indentation"
    assert shown(*PROSE, cursor=1) == ["To␣be or", "  not to␣␣be⏎⏎", "end"], "under the cursor"
    assert shown(*PROSE, blanks=True) == ["To␣be␣or⏎", "␣␣not␣to␣␣be⏎⏎", "end"], "all of it on request"


def test_an_indentation_may_be_of_several_tokens_and_a_line_end_hides_no_space() -> None:
    assert shown(*((text, 0, C, 0) for text in ("if", ":", "\n", "   ", " return", " ", "\n", "x"))) == [
        "if:",
        "    return␣",
        "x",
    ]


def test_white_space_shows_at_the_edges_of_runs_and_messages() -> None:
    edges = [(" Hi", 0, C, 0), (" there ", 0, C, 0), (" Yes", 1, C, 1), (" sir", 1, C, 1), ("\n", 1, S, 0)]
    assert shown(*edges) == ["␣Hi there␣", "⟦␣Yes sir⟧⏎"]


@pytest.mark.parametrize(
    ("token", "special", "tag"),
    [
        ("<|im_end|>", True, "⟨im_end⟩"),
        ("<|im_end|>", False, "<|im_end|>"),
        ("</s>", True, "⟨/s⟩"),
        ("<｜User｜>", True, "⟨User⟩"),
        ("[INST]", True, "⟨INST⟩"),
        ("EOS", True, "⟨EOS⟩"),
        ("⟨im_end⟩", False, "⟨im_end⟩"),
    ],
)
def test_a_control_token_is_a_tag_and_what_only_looks_like_one_is_not(token: str, special: bool, tag: str) -> None:
    assert shown((token, 0, C, 0), special=(0,) if special else ()) == [tag]


def test_a_message_begins_a_line_and_what_the_template_writes_breaks_none() -> None:
    texts = [("user", 0, H, 0), ("\n", 0, H, 0), ("Hi", 0, C, 0), ("\n", 0, S, 0), ("bot", 1, H, 0), ("\n", 1, H, 0)]
    assert shown(*texts) == ["user⏎Hi⏎", "bot⏎"]


def test_a_click_meets_the_token_that_is_drawn_there() -> None:
    table = make_table(inspection(PROSE))
    assert table is not None
    layout = lay_out(table, Zoom.TEXT, False, 80)
    left = gutter_width(80)
    assert [token_of_flow(table, layout, 0, left + x) for x in (0, 1, 2, 4, 5, 70)] == [0, 0, 1, 1, 2, 3]


def test_the_lens_pages_with_the_cursor_and_does_not_scroll() -> None:
    table = make_table(inspection(tuple((f"word{i}", 0, C, 0) for i in range(60))))
    assert table is not None
    lens = lay_out(table, Zoom.COLUMNS, False, 60)
    band = lens.tokens_of(2)
    lines = [plain(draw_lens(table, lens, GridState(Zoom.TEXT, cursor=i), 1)).splitlines()[0] for i in range(60)]
    assert len({lines[i] for i in band}) == 1 and lines[band[0] - 1] != lines[band[0]] != lines[band[-1] + 1]
    two = [plain(draw_lens(table, lens, GridState(Zoom.TEXT, cursor=i), 2)).splitlines()[0] for i in range(60)]
    assert len(set(two)) == (lens.bands + 1) // 2


def ending(*answers: tuple[int, int], reason: Reason = Reason.TERMINATOR) -> Inspection:
    """A row of answers, each (content trained, end trained)."""
    texts: list[Text] = []
    for number, (content, end) in enumerate(answers):
        texts += [("a", number, C, content), ("<e>", number, T, end)]
    made = inspection(texts)
    assert made.labels is not None
    reasons = tuple(reason if part is T else Reason.ASSISTANT for _, _, part, _ in texts)
    return replace(made, labels=replace(made.labels, reasons=reasons))


def test_whether_the_end_of_an_answer_is_trained() -> None:
    assert ends_of(ending((1, 1))) == (1, 1)
    assert ends_of(ending((1, 0))) == (0, 1)
    assert ends_of(ending((1, 1), (1, 0), (0, 0))) == (1, 2)
    assert ends_of(ending((0, 0))) is None, "no answer is trained"
    cut = ending((1, 1))
    assert cut.labels is not None
    assert ends_of(replace(cut, labels=replace(cut.labels, kept=((0, 1),)))) == (0, 1), "its end is cut off"
    assert ends_of(inspection([("a", 0, C, 1), ("b", 0, C, 1)])) is None, "nothing says what ends it"


def test_what_a_recipe_trains_in_words() -> None:
    assert what_is_chosen(preset()) == "trains the last answer only"
    assert what_is_chosen(preset("axolotl")) == "trains every answer"
    assert what_is_chosen(changed(preset("verl"), "mask.turns", "last")) == "trains the last answer only"
    assert what_is_chosen(changed(preset("verl"), "mask.roles", ("user",))) == "trains messages of user"
    made = ending((1, 1))
    assert made.labels is not None
    whole = replace(made, labels=replace(made.labels, reasons=(Reason.WHOLE,) * 2))
    assert what_is_chosen(preset("trl")) == "decides from the data what to train"
    assert what_is_chosen(preset("trl"), whole) == "trains every token"


def test_the_plots_of_a_list_are_along_its_rows() -> None:
    rows = [(i, RowSummary(i, "", 10 ** (i // 2), (10 ** (i // 2)) * (i % 2))) for i in range(4)]
    rows.append((4, RowSummary(4, "", problem="broken")))
    assert sparks(rows, 8) == (("trained", "▁█▁█"), ("tokens", "▃▃██"))
    assert sparks([], 8) == (("trained", ""), ("tokens", ""))
