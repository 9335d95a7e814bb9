"""`sftui check --fix`: what was tried and helps as new data and a new config, proven by a second check."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from row_files import chat, put, rows_of

from sftui.cli import fix
from sftui.errors import ExportError
from sftui.exports.plan import ExportPlan
from sftui.session import trial

Sftui = Callable[..., Any]
TOK = ("-t", "builtin:chatml")


ROLES = [chat(("human", f"What is {n} + 1?"), ("gpt", f"It is {n + 1}.")) for n in range(6)]
HOURS = " ".join(f"Hour {hour} has rain." for hour in range(24))
LONG = [
    chat(("user", f"And day {n}?"), ("assistant", f"{HOURS if n == 2 else 'It is'} {n + 20} warm.")) for n in range(6)
]
TEXTS = [{"messages": json.dumps(row["messages"])} for row in LONG]
SILENT = chat(("user", "And?"))
SHAREGPT = [
    {"conversations": [{"from": "human", "value": f"hi {n}"}, {"from": "gpt", "value": "Hello."}]} for n in range(6)
]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def fixed(sftui: Sftui, *words: object) -> Any:
    """A check with --fix that changes nothing that is there, and what its JSON says of the fix."""
    before = contents(Path())
    done = sftui("check", *words, "--fix", "fixed", "--format", "json")
    assert contents(Path()).items() >= before.items(), done.err
    return done, json.loads(done.out)["fix"]


def became(told: Any) -> dict[str, str]:
    return {one["code"]: one["became"] for one in told["codes"]}


TRL = "# mine\nmodel_name_or_path: tok\ndatasets:\n- path: json\n  data_files: rows.jsonl\nmax_length: 256  # long\n"
AXOLOTL = "base_model: tok\ndatasets:\n- {path: rows.jsonl, ds_type: json, type: chat_template}\nsequence_len: 64\n"
LLAMAFACTORY = "model_name_or_path: tok\nstage: sft\ndataset: mine\ndataset_dir: .\ntemplate: qwen\ncutoff_len: 512\n"
SWIFT = "model: tok\nmodel_type: qwen2\ntemplate: qwen2_5\ndataset: [rows.jsonl]\nmax_length: 64\n"


def test_a_config_of_trl_and_its_rows_are_fixed_in_rounds(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", ROLES)
    Path("trl.yaml").write_text(TRL)
    assert sftui("check", "trl.yaml").code == 1
    done, told = fixed(sftui, "trl.yaml")
    assert done.code == 0, done.err
    assert [cure["codes"][0] for cure in told["cures"]] == ["ROL001", "LAB002"]  # which shows once roles are known
    assert became(told)["ROL001"] == "gone" and "LAB002" not in became(told)
    assert rows_of("fixed/rows.jsonl")[1] == chat(("user", "What is 1 + 1?"), ("assistant", "It is 2."))
    config, template = Path("fixed/trl.yaml").read_text(), Path("fixed/chat_template.jinja").absolute()
    assert "# mine" in config and "# long" in config and str(Path("fixed/rows.jsonl").absolute()) in config
    assert f"chat_template_path: {template}" in config and "{% generation %}" in template.read_text()
    assert f"//{Path('fixed').absolute()}" not in config and "render.template tokenizer -> file:/" in config
    assert "sftui-trial" not in "".join(file.read_text() for file in Path("fixed").iterdir())
    assert told["rows"]["changed"] == 6 and told["rows"]["by_repair"] == {"map-roles": 6}
    assert told["samples"][0]["before"].count("human") == 1 and told["samples"][0]["after"].count("user") == 1
    assert "+++ fixed/trl.yaml (new)" in told["diff"] and told["run"] == "sftui check fixed/trl.yaml"
    assert sftui(*told["run"].split()[1:]).code == 0


def test_a_repair_and_the_limit_that_it_needs_are_put_in_force_together(sftui: Sftui, here: Path) -> None:
    put(
        "rows.jsonl",
        [chat(("system", "Be kind. " * 4), ("user", f"Day {n}?"), ("assistant", "Warm.")) for n in range(6)],
    )
    said = "{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}"
    Path("own.jinja").write_text(f"{{% for m in messages if m.role != 'system' %}}{said}{{% endfor %}}")
    words = ("--trainer", "axolotl", "--template", "own.jinja", "--max-length", "32", "--select", "TPL003")
    done, told = fixed(sftui, "rows.jsonl", *TOK, *words, "--fail-on", "warning")
    assert done.code == 0 and became(told) == {"TPL003": "gone"} and told["rows"]["by_repair"] == {"fold-system": 6}
    config = next(file for file in Path("fixed").glob("*.y*ml") if file.name != "recipe.yaml")
    assert "sequence_len: 32" not in config.read_text() and "Be kind" in Path("fixed/rows.jsonl").read_text()


def test_axolotl_gets_another_key_and_keeps_its_data(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", LONG)
    Path("axo.yml").write_text(AXOLOTL)
    assert sftui("check", "axo.yml", "--fail-on", "warning").code == 1
    done, told = fixed(sftui, "axo.yml", "--fail-on", "warning")
    assert done.code == 0 and became(told)["TRU006"] == "gone" and told["rows"] is None
    assert sorted(file.name for file in Path("fixed").iterdir()) == ["axo.yml", "recipe.yaml"]
    assert (
        told["keys"] == [{"key": "sequence_len", "before": "64", "after": ""}] and "-sequence_len: 64" in told["diff"]
    )


def test_a_row_too_long_gets_the_mask_that_is_asked_for(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", LONG[2:3])
    Path("axo.yml").write_text(AXOLOTL + "train_on_inputs: true\n")
    done, told = fixed(sftui, "axo.yml", "--select", "TRU006", "--fail-on", "warning")
    assert done.code == 0 and became(told) == {"TRU006": "gone"}, told["left"]


def test_what_is_gone_already_is_of_the_cure_that_ended_it(sftui: Sftui, here: Path) -> None:
    ends = ["\n \t" * 200 if n == 2 else " " for n in range(6)]
    put(
        "rows.jsonl", [chat(("user", f"And day {n}?"), ("assistant", f"It is {n}.{end}")) for n, end in enumerate(ends)]
    )
    Path("axo.yml").write_text(AXOLOTL + "train_on_inputs: true\n")
    _, told = fixed(sftui, "axo.yml", "--select", "TRU006,CON004,LAB002")
    codes = {cure["text"]: cure["codes"] for cure in told["cures"]}
    assert codes == {
        "trim: trim leading and trailing whitespace": ["CON004", "TRU006"],
        "remove train_on_inputs": ["LAB002"],
    }


def test_llamafactory_reads_its_rows_by_a_new_dataset_info(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", [{"messages": row["conversations"]} for row in SHAREGPT])
    info = {"mine": {"file_name": "rows.jsonl", "format": "sharegpt", "columns": {"messages": "messages"}}, "other": {}}
    Path("dataset_info.json").write_text(json.dumps(info))
    Path("lf.yaml").write_text(LLAMAFACTORY)
    done, told = fixed(sftui, "lf.yaml")
    assert done.code == 0 and told["rows"] is None, done.err
    entry = json.loads(Path("fixed/dataset_info.json").read_text())["mine"]
    assert entry["formatting"] == "sharegpt" and entry["file_name"] == str(Path("rows.jsonl").absolute())
    assert f"dataset_dir: {Path('fixed').absolute()}" in Path("fixed/lf.yaml").read_text()


def test_ms_swift_is_told_of_the_length_that_its_rows_need(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", LONG)
    Path("swift.yaml").write_text(SWIFT)
    done, told = fixed(sftui, "swift.yaml", "--trainer", "ms-swift", "--fail-on", "warning")
    assert done.code == 0, done.out
    assert any(key["key"] == "max_length" for key in told["keys"]) and set(became(told).values()) & {"gone"}


def test_data_without_a_config_is_written_alone_where_rows_change_alone(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", ROLES)
    words = ("rows.jsonl", *TOK, "--trainer", "trl", "--set", "mask.rule=assistant", "--template", "builtin:chatml")
    done, told = fixed(sftui, *words, "--select", "ROL001", "--max-rows", "5")
    assert told["run"].endswith("--select ROL001 --max-rows 5") and told["codes"][0]["before"] == 10
    assert done.code == 0 and [*Path("fixed").iterdir()] and "--template builtin:chatml" in told["run"]
    assert sorted(file.name for file in Path("fixed").iterdir()) == ["rows.jsonl", "rows.log.jsonl"]
    assert "fixed/rows.jsonl" in told["run"] and "--trainer trl" in told["run"] and became(told) == {"ROL001": "gone"}


def test_data_without_a_config_gets_one_where_the_recipe_changes(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", LONG)
    done, told = fixed(sftui, "rows.jsonl", *TOK, "--trainer", "axolotl", "--max-length", "64", "--fail-on", "warning")
    assert (
        done.code == 0 and "fixed/axolotl.yml" in told["files"] and "rows.jsonl" in Path(told["files"][0]).read_text()
    )


def test_a_template_of_the_trainer_s_own_is_no_file(sftui: Sftui, here: Path) -> None:
    turns = chat(("user", "Rain?"), ("assistant", ""), ("tool", "dry"), ("assistant", "No."))["messages"]
    turns[1]["tool_calls"] = [{"type": "function", "function": {"name": "look", "arguments": {"at": "sky"}}}]
    put("rows.jsonl", [*LONG, {"messages": turns}])
    words = ("rows.jsonl", *TOK, "--trainer", "llamafactory", "--select", "TPL016", "--fail-on", "warning")
    done, told = fixed(sftui, *words)
    assert done.code == 0 and told["keys"] == [{"key": "template", "before": "", "after": "chatml"}], done.err
    assert became(told) == {"TPL016": "gone"} and not Path("fixed/chat_template.jinja").exists()


def test_what_no_trainer_of_its_kind_reads_becomes_messages(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", TEXTS)
    done, told = fixed(sftui, "rows.jsonl", *TOK, "--trainer", "trl", "--select", "ROW")
    assert done.code == 0 and became(told)["ROW009"] == "gone" and rows_of("fixed/rows.jsonl") == LONG


def test_what_makes_a_refused_set_be_read_is_the_first_cure(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", [{"dialog": row["messages"]} for row in LONG])
    words = ("rows.jsonl", *TOK, "--trainer", "axolotl", "--set", "data.format=messages", "--max-length", "64")
    assert sftui("check", *words).code == 2
    done, told = fixed(sftui, *words, "--fail-on", "warning")
    assert done.code == 0 and [cure["codes"] for cure in told["cures"]] == [[], ["TRU006"]], done.err
    assert told["cures"][0]["text"] == "field_messages: dialog" and "(tried on the first rows)" in done.err
    assert "field_messages: dialog" in Path("fixed/axolotl.yml").read_text()
    put("rows.jsonl", [{"chosen": "a", "rejected": "b"}] * 3)
    done = sftui("check", *words, "--fix", "other")
    assert done.code == 2 and "preference set" in done.err and not Path("other").exists()


def test_keys_of_messages_are_named_in_a_new_dataset_info(sftui: Sftui, here: Path) -> None:
    turns = [{"role": "human", "value": "Rain?"}, {"role": "gpt", "value": "No."}]
    put("rows.jsonl", [{"conversations": turns}] * 6)
    Path("dataset_info.json").write_text(json.dumps({"mine": {"file_name": "rows.jsonl", "formatting": "sharegpt"}}))
    Path("lf.yaml").write_text(LLAMAFACTORY)
    assert sftui("check", "lf.yaml").code == 2
    done, told = fixed(sftui, "lf.yaml", "--ignore", "DUP")
    assert done.code == 0 and "tags.role_tag: role" in told["cures"][0]["text"], done.err
    assert json.loads(Path("fixed/dataset_info.json").read_text())["mine"]["tags"]["content_tag"] == "value"


def test_what_comes_from_a_pipe_is_not_fixed(sftui: Sftui, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(ROLES[0]).encode())))
    done = sftui("check", "-", *TOK, "--trainer", "trl", "--fix", "fixed")
    assert done.code == 2 and "--fix cannot work on piped data" in done.err and "ROL001" in done.out


def test_rows_are_left_out_only_where_asked_for(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", [*ROLES, SILENT])
    words = ("rows.jsonl", *TOK, "--trainer", "trl")
    done, told = fixed(sftui, *words)
    assert done.code == 1 and len(rows_of("fixed/rows.jsonl")) == 7 and became(told)["LAB012"] == "stays"
    dropped = {"text": "drop 1 row", "codes": ["LAB012"], "why": "--drop LAB012 asks for it", "drops": 1}
    assert dropped in told["left"]
    done = sftui("check", *words, "--fix", "less", "--drop", "LAB012,DUP001")
    assert done.code == 0 and len(rows_of("less/rows.jsonl")) == 6 and "gone  LAB012" in done.out, done.out
    assert "--drop LAB012" in done.out and "drop LAB012 1" in done.out


def test_where_nothing_helps_nothing_is_written(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", [*LONG, SILENT])
    helps = "no error or warning has a fix that was tried, works"
    for select, code, why in (("LAB012", 1, helps), ("DUP", 0, "there are no errors and no warnings")):
        done = sftui("check", "rows.jsonl", *TOK, "--trainer", "hf-trainer", "--select", select, "--fix", "fixed")
        text = " ".join(done.out.split())
        assert done.code == code and f"nothing was written: {why}" in text and not Path("fixed").exists(), done.out


def test_the_second_check_is_what_counts(sftui: Sftui, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fix that is not in what was written does not pass for one."""
    put("rows.jsonl", LONG)
    Path("axo.yml").write_text(AXOLOTL)
    whole = ExportPlan.write

    def lost(plan: ExportPlan, overwrite: bool = False) -> tuple[Path, ...]:
        made = whole(plan, overwrite)
        Path("fixed/axo.yml").write_text(AXOLOTL)
        return made

    monkeypatch.setattr(ExportPlan, "write", lost)
    done, told = fixed(sftui, "axo.yml", "--fail-on", "warning")
    assert done.code == 1 and became(told)["TRU006"] == "stays"


def ends(error: BaseException) -> Callable[..., Any]:
    def end(*_: object, **__: object) -> None:
        raise error

    return end


@pytest.mark.parametrize("error", [ExportError("the disk is full"), KeyboardInterrupt()])
@pytest.mark.parametrize("where", ["write", "audited", "rows_written"])
def test_what_is_not_finished_leaves_nothing(
    sftui: Sftui, here: Path, monkeypatch: pytest.MonkeyPatch, where: str, error: BaseException
) -> None:
    put("rows.jsonl", ROLES)
    Path("trl.yaml").write_text(TRL)
    before = contents(here)
    place: Any = ExportPlan if where == "write" else fix
    monkeypatch.setattr(place, where, ends(error))
    done = sftui("check", "trl.yaml", "--fix", "deep/fixed")
    assert done.code == (130 if isinstance(error, KeyboardInterrupt) else 2), done.err
    assert contents(here) == before and not Path("deep").exists()
    Path("deep/fixed").mkdir(parents=True)
    Path("deep/fixed/mine.txt").write_text("mine")
    assert sftui("check", "trl.yaml", "--fix", "deep/fixed").code in (2, 130)
    assert [*contents(Path("deep"))] == ["fixed/mine.txt"]


def test_what_is_there_is_not_overwritten_unasked(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", ROLES)
    Path("fixed").mkdir()
    put("fixed/rows.jsonl", LONG)
    words = ("check", "rows.jsonl", *TOK, "--trainer", "trl", "--fix", "fixed")
    done = sftui(*words)
    assert done.code == 2 and "fixed/rows.jsonl already exists" in done.err and rows_of("fixed/rows.jsonl") == LONG
    assert "ROL001" in done.out  # what was found is said all the same
    assert sftui(*words, "--force").code == 0 and rows_of("fixed/rows.jsonl") != LONG


def test_a_template_that_is_there_is_not_overwritten_unasked(
    sftui: Sftui, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("rows.jsonl", LONG)
    Path("fixed").mkdir()
    template = Path("fixed/chat_template.jinja")
    template.write_text("mine")
    monkeypatch.setattr(trial, "MOST_RECIPES", 0)  # only the tags are tried
    words = ("check", "rows.jsonl", *TOK, "--set", "mask.rule=generation_tag", "--select", "GEN", "--fix", "fixed")
    done = sftui(*words)
    assert done.code == 2 and f"{template.absolute()} already exists" in done.err, done.out
    assert template.read_text() == "mine"
    assert sftui(*words, "--force").code == 0 and "{% generation %}" in template.read_text()


def test_a_folder_that_cannot_be_made_costs_no_report(
    sftui: Sftui, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("rows.jsonl", ROLES)
    words = ("check", "rows.jsonl", *TOK, "--trainer", "trl", "--fix")
    done = sftui(*words, "rows.jsonl/new/fixed")
    assert done.code == 2 and "rows.jsonl is a file, not a folder" in done.err and done.out == ""
    monkeypatch.setattr(Path, "mkdir", ends(PermissionError(13, "Permission denied")))
    done = sftui(*words, "new/fixed")
    assert done.code == 2 and "the folder new/fixed cannot be created, because permission denied" in done.err
    assert "ROL001" in done.out


def test_what_is_read_is_no_folder_for_a_fix(sftui: Sftui, here: Path) -> None:
    Path("data").mkdir()
    put("data/rows.jsonl", ROLES)
    for folder in ("-", "data/rows.jsonl", "data"):
        done = sftui("check", "data", *TOK, "--trainer", "trl", "--fix", folder)
        assert done.code == 2 and [*contents(Path("data"))] == ["rows.jsonl"], (folder, done.err)
    for words in (
        ("--drop", "LAB012"),
        ("--fix", "x", "--baseline", "b", "--write-baseline"),
        ("--fix", "x", "--drop", ","),
    ):
        done = sftui("check", "data", *TOK, *words)
        assert done.code == 2 and not Path("x").exists(), done.err


def test_names_that_a_terminal_would_act_on_are_shown_and_kept(sftui: Sftui, here: Path) -> None:
    Path("it's \x1b[31mmine #1: {a}").mkdir()
    name = 'it\'s \x1b[31mmine #1: {a}/a "b" \x9b1m.jsonl'
    rows = [chat(("human", "\x1b[31mred\x07 \u202eback?"), ("gpt", "\x9b1m It is."))] * 6
    put(name, rows)
    done = sftui("check", name, *TOK, "--trainer", "trl", "--fix", "fi 'x' \x1b[1m: #2")
    assert done.code == 0 and not set("\x1b\x07\x9b\u202e") & set(done.out + done.err), done.err
    made = next(Path("fi 'x' \x1b[1m: #2").glob("*m.jsonl"))
    assert rows_of(str(made))[0]["messages"][0] == {"role": "user", "content": "\x1b[31mred\x07 \u202eback?"}


def test_other_formats_hold_what_was_found_and_stderr_the_fix(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", ROLES)
    done = sftui("check", "rows.jsonl", *TOK, "--trainer", "trl", "--fix", "fixed", "--format", "github")
    assert done.code == 0 and "ROL001" in done.out and "✓" not in done.out
    assert "✓ map-roles: map role aliases" in done.err and max(map(len, done.err.splitlines())) < 400


def test_waived_findings_stay_waived_in_the_second_check(sftui: Sftui, here: Path) -> None:
    put("rows.jsonl", [*LONG, SILENT])
    Path("r.yaml").write_text(
        "preset: axolotl\ntokenizer: {name: tok}\nlength: {max: 64}\nwaivers: [{code: LAB012, reason: wanted}]\n"
    )
    done, told = fixed(sftui, "rows.jsonl", "--recipe", "r.yaml", "--fail-on", "warning", "--select", "LAB012,TRU006")
    assert became(told) == {"TRU006": "gone"} and done.code == 0, done.out
    assert sftui(*told["run"].split()[1:], "--fail-on", "warning").code == 0, "the command says less than was checked"


def test_a_fix_without_a_folder_goes_beside_the_data_into_none_that_is_there(sftui: Sftui, here: Path) -> None:
    Path("data").mkdir()
    put("data/rows.jsonl", ROLES)
    words = ("check", "data/rows.jsonl", *TOK, "--trainer", "trl", "--fix")
    assert sftui(*words, "--format", "json").code == 0 and rows_of("data/rows-fixed/rows.jsonl")
    done = sftui(*words)
    assert done.code == 2 and "data/rows-fixed already exists" in done.err and "--fix DIR" in done.err
    done = sftui("check", "--fix", "data/rows.jsonl")
    assert done.code == 2 and "sftui check data/rows.jsonl --fix" in done.err
