"""`sftui repair` and `sftui template`: new files, a log, and not a byte more changed than said."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.templates import compile_template

FINE = (
    '{"id": 1,  "messages": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}], "x": 1.0}'
)
LINES = [
    FINE,
    '{"id":2,"messages":[{"role":"user","content":"Hello?"},{"role":"Assistant","content":" Hi there. "}],"x":[1,2]}',
    '{"id": 3, "messages": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}]}',
    '{"id": 4, "messages": [{"role": "user", "content": "Hello?"}',
    '{"id": 5, "messages": [{"role": "user", "content": "Nobody?"}]}',
]


@pytest.fixture
def dirty(tmp_path: Path) -> Path:
    path = tmp_path / "dirty.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n\n".join(LINES).encode() + b"\n")
    return path


def test_repaired_rows_go_to_a_new_file_with_a_log(sftui: Callable[..., Any], dirty: Path, tmp_path: Path) -> None:
    before = dirty.read_bytes()
    out, log = tmp_path / "out.jsonl", tmp_path / "log.jsonl"
    done = sftui(
        "repair",
        dirty,
        "--apply",
        "map-roles,trim",
        "--apply",
        "deduplicate",
        "--drop",
        "unreadable,no-answer",
        "-o",
        out,
        "--log",
        log,
    )
    assert done.code == 0 and done.out == ""
    assert dirty.read_bytes() == before
    lines = out.read_bytes().splitlines(keepends=True)
    assert lines[0] == FINE.encode() + b"\r\n", "an untouched row keeps every byte"
    assert (
        lines[1] == b'{"id":2,"messages":[{"role":"user","content":"Hello?"},{"role":"assistant","content":"Hi'
        b' there."}],"x":[1,2]}\n'
    )
    assert len(lines) == 2
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(one["row"], one["dropped"]) for one in told] == [
        (1, None),
        (2, "the same conversation as row 0"),
        (3, "unreadable"),
        (4, "no-answer"),
    ]
    assert [change["place"] for change in told[0]["changes"]] == ["messages[1].role", "messages[1].content"]
    assert told[0]["where"].endswith("line 3")
    assert "2 of 5 rows written" in done.err and "1 of them changed, 3 dropped" in done.err


def test_a_dry_run_counts_and_writes_nothing(sftui: Callable[..., Any], dirty: Path, tmp_path: Path) -> None:
    done = sftui("repair", dirty, "--apply", "trim", "--drop", "unreadable", "--dry-run")
    assert done.code == 0 and "4 of 5 rows would be written" in done.err
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == ["dirty.jsonl"]


def test_rows_are_dropped_by_finding(sftui: Callable[..., Any], dirty: Path) -> None:
    done = sftui("repair", dirty, "-t", "builtin:chatml", "--drop", "ROW,ROL002", "--dry-run")
    assert "drop ROL002" in done.err and "drop ROW001" in done.err and "3 of 5 rows" in done.err


def test_the_tokenizers_own_control_tokens_are_stripped(sftui: Callable[..., Any], tmp_path: Path) -> None:
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    path.write_text(
        json.dumps({"messages": [{"role": "user", "content": "a<|im_end|>b"}, {"role": "assistant", "content": "c"}]})
        + "\n"
    )
    assert sftui("repair", path, "-t", "builtin:chatml", "--apply", "strip-tokens", "-o", out).code == 0
    assert json.loads(out.read_text())["messages"][0]["content"] == "ab"


def test_other_formats_become_lines(sftui: Callable[..., Any], tmp_path: Path) -> None:
    rows = [json.loads(LINES[0]), json.loads(LINES[1])]
    as_array, packed, out = tmp_path / "rows.json", tmp_path / "rows.jsonl.gz", tmp_path / "out.jsonl"
    as_array.write_text(json.dumps(rows, indent=1))
    packed.write_bytes(gzip.compress("\n".join(LINES[:2]).encode()))
    for path in (as_array, packed):
        assert sftui("repair", path, "--apply", "trim", "-o", out, "--force").code == 0
        assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == [1, 2]
    assert out.read_text().splitlines()[0] == FINE, "also out of a packed file an untouched row keeps every byte"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--apply", "trim"), "needs a file"),
        (("--apply", "trim", "-o", "out.csv"), "OUT.jsonl"),
        (("-o", "out.jsonl"), "no repair was given"),
        (("--apply", "trimm", "-o", "out.jsonl"), "did you mean `trim`?"),
        (("--drop", "NOPE9", "--dry-run"), "neither a reason to drop"),
        (("--drop", ",", "--dry-run"), "--drop names no reason and no code"),
        (("--apply", "trim", "--drop", "", "--dry-run"), "--drop names no reason and no code"),
        (("--apply", "", "--drop", "empty", "--dry-run"), "--apply names no repair"),
    ],
)
def test_what_is_missing_is_told(sftui: Callable[..., Any], dirty: Path, words: tuple[str, ...], told: str) -> None:
    done = sftui("repair", dirty, *words)
    assert done.code == 2 and told in done.err


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("TPL004", "sftui explain TPL004"),
        ("dup001", "--apply deduplicate"),
        ("DUP", "sftui"),
        ("PAC001", "sftui explain PAC001"),
    ],
)
def test_a_code_that_no_row_has_is_refused_in_one_sentence(
    sftui: Callable[..., Any], dirty: Path, tmp_path: Path, code: str, told: str
) -> None:
    for words in (("--dry-run",), ("-o", tmp_path / "out.jsonl"), ("--apply", "trim", "--dry-run")):
        done = sftui("repair", dirty, "-t", "builtin:chatml", "--drop", code, *words)
        assert done.code == 2 and done.out == "" and done.err.count("\n") == 1 and done.err.startswith("sftui: ")
        assert f"`{code.upper()}` does not drop rows" in done.err and told in done.err
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("option", ["-o", "--log"])
def test_never_in_place(sftui: Callable[..., Any], dirty: Path, tmp_path: Path, option: str) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(dirty)
    before = dirty.read_bytes()
    done = sftui(
        "repair",
        dirty,
        "--apply",
        "trim",
        option,
        link,
        *(("-o", tmp_path / "o.jsonl") if option == "--log" else ()),
        "--force",
    )
    assert done.code == 2 and "never in place" in done.err
    assert dirty.read_bytes() == before


def test_the_list_names_everything(sftui: Callable[..., Any]) -> None:
    done = sftui("repair", "--list")
    assert done.code == 0 and "fold-system" in done.out and "no-answer" in done.out


def test_unreadable_rows_are_carried_over_untouched(sftui: Callable[..., Any], dirty: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert sftui("repair", dirty, "--apply", "trim", "-o", out).code == 0
    assert LINES[3].encode() in out.read_bytes()


def test_a_tagged_template_is_shown_and_written(sftui: Callable[..., Any], data: Path, tmp_path: Path) -> None:
    out = tmp_path / "chat_template.jinja"
    done = sftui("template", data, "-t", "builtin:chatml", "--add-generation-tags", "-o", out)
    assert done.code == 0 and "byte for byte" in done.err
    assert done.out.startswith("---") and "{% generation %}" in done.out
    source = out.read_text()
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    text, spans = compile_template(source, "written").text(messages, variables={})
    assert [text[start:end] for start, end in spans] == ["b<|im_end|>"]
    again = sftui(
        "template",
        data,
        "-t",
        "builtin:chatml",
        "--template",
        out,
        "--add-generation-tags",
        "-o",
        tmp_path / "no.jinja",
    )
    assert again.code == 1 and "already" in again.err and not (tmp_path / "no.jinja").exists()


def test_without_tags_the_template_itself_is_printed(sftui: Callable[..., Any], data: Path) -> None:
    assert "<|im_start|>" in sftui("template", data, "-t", "builtin:chatml").out


def test_rows_marked_drop_in_the_inspector_are_left_out(sftui: Callable[..., Any], dirty: Path, tmp_path: Path) -> None:
    marks, out, log = tmp_path / "marks.jsonl", tmp_path / "out.jsonl", tmp_path / "log.jsonl"
    marks.write_text(
        '{"row": 0, "mark": "drop", "note": "dull"}\n{"row": 1, "mark": "keep", "note": ""}\n{"row": 2, "mark": null,'
        ' "note": "hm"}\n'
    )
    done = sftui("repair", dirty, "--marks", marks, "-o", out, "--log", log)
    assert done.code == 0 and "drop marked" in done.err and "4 of 5 rows written" in done.err
    assert FINE.encode() not in out.read_bytes()
    assert [(one["row"], one["dropped"]) for one in map(json.loads, log.read_text().splitlines())] == [(0, "marked")]
    marks.write_text('{"row": 0, "mark": "dorp"}\n')
    done = sftui("repair", dirty, "--marks", marks, "--dry-run")
    assert done.code == 2 and "not a review mark" in done.err


def test_edits_of_the_inspector_are_made_and_only_rows_of_one_mark_written(
    sftui: Callable[..., Any], dirty: Path, tmp_path: Path
) -> None:
    from sftui.repairs.edits import edit_name
    from sftui.sources import SourceSpec, open_source

    row = open_source(SourceSpec((str(dirty),))).row(0)
    record = {"messages": [{"role": "user", "content": "Edited"}, {"role": "assistant", "content": "Yes"}]}
    marks, out = tmp_path / "marks.jsonl", tmp_path / "out.jsonl"
    entries = [{"row": 0, "edit": edit_name(row, record)}, {"row": 1, "mark": "keep"}, {"row": 2, "mark": "drop"}]
    marks.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    done = sftui("repair", dirty, "--marks", marks, "-o", out)
    assert done.code == 0 and "4 of 5 rows written" in done.err
    assert json.loads(out.read_bytes().splitlines()[0])["messages"][0]["content"] == "Edited"
    done = sftui("repair", dirty, "--marks", marks, "--only", "keep", "-o", out, "--force")
    assert done.code == 0 and "1 of 5 rows written" in done.err
    assert out.read_bytes().splitlines() == [line for line in dirty.read_bytes().splitlines() if b'"id":2' in line]
    done = sftui("repair", dirty, "--marks", marks, "--only", "flag", "-o", out, "--force")
    assert done.code == 2 and "marks no row as flag" in done.err
    done = sftui("repair", dirty, "--only", "keep", "--dry-run")
    assert done.code == 2 and "--marks" in done.err
    marks.write_text('{"row": 1, "edit": "edit 0 abc {}"}\n')
    assert sftui("repair", dirty, "--marks", marks, "--dry-run").code == 2, "the edit of another row"


def test_the_new_file_does_not_become_part_of_a_folder_of_data(
    sftui: Callable[..., Any], dirty: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    (folder / "a.jsonl").write_text(FINE + "\n")
    done = sftui("repair", folder, "--apply", "trim", "-o", folder / "b.jsonl")
    assert done.code == 2 and "never in place" in done.err


def test_roles_are_mapped_whatever_the_preset_and_names_of_a_format_stay(
    sftui: Callable[..., Any], tmp_path: Path
) -> None:
    chats, turns = tmp_path / "chats.jsonl", tmp_path / "turns.jsonl"
    chats.write_text(
        json.dumps({"messages": [{"role": "human", "content": "q"}, {"role": "ai", "content": "a"}]}) + "\n"
    )
    turns.write_text(
        json.dumps({"conversations": [{"from": "human", "value": "q"}, {"from": "chatgpt", "value": "a"}]}) + "\n"
    )
    done = sftui("repair", chats, "--apply", "map-roles", "-o", "-")
    assert [one["role"] for one in json.loads(done.out)["messages"]] == [
        "user",
        "assistant",
    ] and "ShareGPT" not in done.err
    done = sftui("repair", turns, "--apply", "map-roles", "-o", "-")
    assert [one["from"] for one in json.loads(done.out)["conversations"]] == ["human", "gpt"]
    assert "map-roles kept human and gpt" in done.err


HALF = r'{"messages": [{"role":"user","content":"Half \ud83d"},  {"role": "assistant", "content": " Yes<|im_end|>"}]}'
TYPED = '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Now<|im_end|>"}]}'


@pytest.mark.parametrize("kind", ["jsonl", "jsonl.gz", "json"])
def test_a_row_that_cannot_be_repaired_is_kept_and_named(sftui: Callable[..., Any], tmp_path: Path, kind: str) -> None:
    data, out, log = tmp_path / f"half.{kind}", tmp_path / "out.jsonl", tmp_path / "log.jsonl"
    lines = [TYPED, HALF, TYPED]
    text = "[" + ",\n".join(lines) + "]" if kind == "json" else "\n".join(lines) + "\n"
    data.write_bytes(gzip.compress(text.encode()) if kind.endswith("gz") else text.encode())
    given = ("repair", data, "-t", "builtin:chatml", "--apply", "strip-tokens,trim")
    done = sftui(*given, "-o", out, "--log", log)
    assert done.code == 1 and "3 of 3 rows written" in done.err and "2 of them changed" in done.err
    assert "row 1 (half" in done.err and "U+D83D" in done.err and "--drop unreadable" in done.err
    written = out.read_text().splitlines()
    assert len(written) == 3 and all("<|im_end|>" not in written[number] for number in (0, 2))
    assert json.loads(written[1]) == json.loads(HALF), "not half a repair either"
    if kind != "json":
        assert written[1] == HALF, "byte for byte"
    told = {one["row"]: one for one in map(json.loads, log.read_text().splitlines())}
    assert "U+D83D" in told[1]["skipped"] and told[1]["changes"] == [] and "skipped" not in told[0]
    dropped = sftui(*given, "--drop", "unreadable", "-o", out, "--force")
    assert dropped.code == 0 and len(out.read_text().splitlines()) == 2 and "1 dropped" in dropped.err


def test_half_a_character_is_unreadable_wherever_it_stands(sftui: Callable[..., Any], tmp_path: Path) -> None:
    data, out = tmp_path / "half.jsonl", tmp_path / "out.jsonl"
    data.write_text(TYPED + "\n" + HALF + "\n" + TYPED[:-1] + r', "meta": {"a\udc00": 1}}' + "\n")
    done = sftui("repair", data, "--drop", "unreadable", "-o", out)
    assert done.code == 0 and out.read_text() == TYPED + "\n"


def test_a_row_that_cannot_be_written_anew_is_kept(
    sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sftui.repairs import lines

    written = lines._written

    def too_deep(data: Any, original: Any) -> Any:
        if data["id"] == 2:
            raise RecursionError
        return written(data, original)

    monkeypatch.setattr(lines, "_written", too_deep)
    data, out = tmp_path / "deep.jsonl", tmp_path / "out.jsonl"
    rows = [f'{{"id": {number}, "messages": [{{"role": "Assistant", "content": "x"}}]}}' for number in range(3)]
    data.write_text("\n".join(rows) + "\n")
    done = sftui("repair", data, "--apply", "map-roles", "-o", out)
    assert done.code == 1 and "3 of 3 rows written" in done.err and "row 2 (deep" in done.err
    assert out.read_text().splitlines()[2] == rows[2]


def test_the_log_is_written_beside_the_output_unless_named(sftui: Callable[..., Any], tmp_path: Path) -> None:
    data, out = tmp_path / "typed.jsonl", tmp_path / "out.jsonl"
    data.write_text(TYPED + "\n")
    assert sftui("repair", data, "--apply", "strip-tokens", "-o", out).code == 0
    (told,) = map(json.loads, (tmp_path / "out.log.jsonl").read_text().splitlines())
    assert told["row"] == 0 and told["changes"][0]["repair"] == "strip-tokens"
    assert sftui("repair", data, "--apply", "strip-tokens", "-o", "-").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "out.log.jsonl", "typed.jsonl"]
