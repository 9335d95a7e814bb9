"""What is offered against a finding was tried: it goes away or shrinks, and nothing gets worse."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sftui.audit.found import Filter
from sftui.exports.report_model import Advice
from sftui.findings import Finding, Fix, Severity
from sftui.findings.rule import chatml
from sftui.recipe import Recipe, changed, diff
from sftui.session.checking import AuditSession, result_of
from sftui.session.ready import Ready, open_data, tokenized
from sftui.session.trial import COSTLY, in_keys, with_cures, with_pair
from sftui.trainers import preset
from sftui.workspace import OpenOptions
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

FOREIGN = [("human", "Call it."), ("gpt", "Calling."), ("function_call", "{}"), ("human", "So?"), ("gpt", "Done.")]
UNTAGGABLE = "{{ bos_token }}{% for m in messages %}{{ m | tojson }}{% endfor %}"
"""A template of which no part can be told to be an answer."""


def opened(
    tmp_path: Path,
    rows: Sequence[Any],
    recipe: Recipe | None = None,
    template: str = "tokenizer",
    tokenizer: str = "builtin:chatml",
) -> Ready:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    recipe = changed(changed(recipe or preset(), "tokenizer.name", tokenizer), "render.template", template)
    options = OpenOptions((str(path),), recipe=recipe)
    return tokenized(open_data(options), "provisional").ready()


def tried(session: Ready, code: str, row: int = 0) -> list[Finding]:
    found = [one for one in session.found(session.inspect(row)) if one.code == code]
    made = [result_of(with_cures(session, finding)) for finding in found]
    assert made, f"no {code} in row {row}"
    return [finding for finding in made if finding is not None]


def shared_chat(turns: Sequence[tuple[str, str]]) -> dict[str, Any]:
    return {"conversations": [{"from": role, "value": text} for role, text in turns]}


def chat(*contents: str) -> dict[str, Any]:
    roles = ("user", "assistant") * len(contents)
    return {"messages": [{"role": role, "content": text} for role, text in zip(roles, contents)]}


@pytest.mark.parametrize(("strategy", "apart"), [("bfd", True), ("none", False)])
def test_flash_attention_is_asked_for_where_positions_keep_documents_apart(strategy: str, apart: bool) -> None:
    recipe = changed(preset("trl@1.16"), "pack.strategy", "wrapped")
    fix = in_keys(recipe, Fix("", diff(recipe, changed(recipe, "pack.strategy", strategy))))
    assert fix.trainer_keys["trl"] and ("FlashAttention" in fix.trainer_keys["trl"]) is apart


SILENT_ON_SYSTEM = (
    "{% for m in messages if m.role != 'system' %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}"
    "{% endfor %}"
)


@pytest.mark.parametrize(
    ("trainer", "length", "keys"),
    [
        ("trl@1.16", 32, "max_length: 512, with `sftui repair --apply fold-system`"),
        ("axolotl@0.19", 32, "remove sequence_len, with `sftui repair --apply fold-system`"),
        ("hf-trainer", 32, "set length.max to 512, with `sftui repair --apply fold-system`"),
        ("trl@1.16", 256, None),
    ],
)
def test_a_repair_and_a_longer_limit_are_found_together(
    trainer: str, length: int, keys: str | None, tmp_path: Path
) -> None:
    (tmp_path / "own.jinja").write_text(SILENT_ON_SYSTEM)
    rows = [
        {"messages": [{"role": "system", "content": "Be kind. " * 4}, *chat(f"Day {n}?", "Warm.")["messages"]]}
        for n in range(4)
    ]
    recipe = changed(preset(trainer), "length.max", length)
    session = opened(tmp_path, rows, recipe, f"file:{tmp_path / 'own.jinja'}")
    (alone,) = tried(session, "TPL003")
    both = result_of(with_pair(session, alone))
    assert both is not None and both.fix is not None
    if keys is None:
        assert both is alone and alone.repairs == ("fold-system",), "one alone helps"
        return
    assert alone.declined and not alone.repairs
    assert both.fix.repairs == ("fold-system",) and [one.path for one in both.fix.changes] == ["length.max"]
    assert both.fix.trainer_keys[trainer.partition("@")[0]] == keys


def test_no_packing_is_offered_against_roles_where_a_longer_limit_keeps_the_rows_whole(tmp_path: Path) -> None:
    """Without its turns the long row fits, so that to-messages alone has it cut."""
    (tmp_path / "own.jinja").write_text(SILENT_ON_SYSTEM.replace("!= 'system'", "in ('user', 'assistant')"))
    turns = [turn for turn in FOREIGN if turn[0] != "function_call"]
    rows = [shared_chat(turns), shared_chat([(role, f"{text} " * 400) for role, text in turns])]
    session = opened(tmp_path, rows, preset("trl@1.16"), f"file:{tmp_path / 'own.jinja'}")
    for alone in tried(session, "ROL001"):
        both = result_of(with_pair(session, alone))
        assert both is not None and both.fix is not None
        assert both.fix.repairs and [one.path for one in both.fix.changes] == ["length.max"]


def test_map_roles_is_offered_for_the_roles_alone_that_it_maps(tmp_path: Path) -> None:
    session = opened(
        tmp_path, [shared_chat(FOREIGN), shared_chat([("user", "Fine?"), ("assistant", "Fine.")])], recipe=preset("trl")
    )
    found = {one.message: one for one in tried(session, "ROL001")}
    assert found[0].repairs == ("map-roles", "drop") and found[1].repairs == ("map-roles", "drop")
    assert found[2].repairs == ("drop",), "map-roles leaves function_call"
    assert any("map-roles does not help: ROL001 stays" in told for told in found[2].declined)


def test_a_fix_of_the_mask_is_offered_where_the_template_can_be_tagged_alone(tmp_path: Path) -> None:
    rows = [chat("Hello?", "Hi."), chat("And now?", "Bye.")]
    (fine,) = tried(opened(tmp_path, rows, recipe=preset("trl")), "LAB002")
    assert fine.fix is not None and [one.path for one in fine.fix.changes] == ["mask.rule"]
    template = tmp_path / "untaggable.jinja"
    template.write_text(UNTAGGABLE)
    session = opened(tmp_path, rows, recipe=preset("trl"), template=f"file:{template}")
    for one in tried(session, "LAB002"):
        assert one.fix is None and any("mask.rule does not help" in told for told in one.declined), one


def test_tags_are_asked_for_only_where_the_trainer_has_none(shared: Path, tmp_path: Path) -> None:
    """TRL has its own copy of Qwen's template, with tags."""
    tokenizer = str(shared / "testdata" / "tokenizers" / "qwen2.5")
    session = opened(tmp_path, [chat("Hello?", "Hi."), chat("And now?", "Bye.")], preset("trl"), tokenizer=tokenizer)
    (found,) = tried(session, "LAB002")
    assert found.fix is not None and found.fix.template is None
    assert found.fix.trainer_keys["trl"] == "assistant_only_loss: true"


def test_a_pair_says_the_length_that_is_null() -> None:
    """The default of TRL is 1,024, so that the key has to say null, and does not go."""
    recipe = preset("trl")
    assert in_keys(recipe, Fix("", diff(recipe, changed(recipe, "length.max", None)))).trainer_keys["trl"] == (
        "max_length: null"
    )


def test_a_knob_without_effect_is_not_offered(tmp_path: Path) -> None:
    session = opened(tmp_path, [chat("Hello?", "Hi.")], recipe=changed(preset(), "mask.rule", "all"))
    from sftui.workspace.answers import _setup

    context = session.checks()
    list(_setup(session, context))
    ((*found,), _) = context.memo["the setup's findings"]
    assert any(one.code == "EOS008" for one in found)
    for finding in found:
        if finding.code == "EOS008":
            steps = with_cures(session, finding)
            with pytest.raises(StopIteration) as stop:
                while True:
                    next(steps)
            assert stop.value.value.fix is None and "EOS008 stays" in stop.value.value.declined[0]


def test_no_cure_trains_what_is_around_a_question(tmp_path: Path) -> None:
    """`train_on_eos: all` would silence LAB001 by the ends of the user's turns."""
    rows = [{"messages": [{"role": "user", "content": "Hello?"}, {"role": "Assistant", "content": "Hi."}]}]
    for one in tried(opened(tmp_path, [*rows, chat("And now?", "Bye.")], recipe=preset("axolotl@0.19")), "LAB001"):
        assert one.fix is None or "own.train_on_eos" not in [change.path for change in one.fix.changes]


def test_no_cure_reads_a_chat_as_plain_text(tmp_path: Path) -> None:
    """`stage: pt` would silence what is said of messages, which are no more read."""
    rows = [chat("Hello?", ""), chat("And now?", "Bye.")]
    (one,) = tried(opened(tmp_path, rows, recipe=preset("llamafactory@0.9")), "CON003")
    assert one.fix is None or not one.fix.changes


def test_a_cure_is_tried_on_rows_with_other_findings(tmp_path: Path) -> None:
    """Row 40 has no answer: with its prompt masked Unsloth drops it."""
    rows = [chat(f"Question {number}?", "Answer.") for number in range(40)]
    fine = AuditSession(opened(tmp_path, rows, preset("unsloth@2026.10")), Filter())
    assert [change.path for change in fix_of_trained_questions(fine)] == ["mask.rule"]
    asked = {"messages": [{"role": "user", "content": "Hm?"}]}
    less = AuditSession(opened(tmp_path, [*rows, asked], preset("unsloth@2026.10")), Filter())
    assert not fix_of_trained_questions(less)


def test_findings_of_one_cause_have_one_cure(tmp_path: Path) -> None:
    """LLaMA-Factory drops every row for a role that no tag of the set's entry names, and then has nothing to train."""
    turns = [{"role": "user", "content": "Hello?"}, {"role": "Assistant", "content": "Hi."}]
    rows = [{"messages": [turns[0], {**turns[1], "content": text}]} for text in ("Hi.", "Bye.", "No.")]
    checking = AuditSession(opened(tmp_path, rows, preset("llamafactory@0.9")), Filter())
    for _ in checking.steps():
        pass
    report = checking.checked()
    (advice,) = {report.advice_on(code) for code in ("RUN001", "ROL002", "TRU006")}
    assert advice.tried and advice.text.startswith("dataset_info.json formatting: sharegpt, columns.messages: messages")
    assert "tags.user_tag: user, tags.assistant_tag: Assistant" in advice.text


def test_rows_of_messages_are_not_cured_by_reading_them_as_text(tmp_path: Path) -> None:
    """As LLaMA-Factory's `stage: pt` would, where the entry of the set has `format` for `formatting`."""
    rows = [chat("Hello?", "Hi."), chat("So?", "So.")]
    wrong = changed(
        changed(preset("llamafactory@0.9"), "data.format", "alpaca"), "data.fields", {"messages": "messages"}
    )
    checking = AuditSession(opened(tmp_path, rows, wrong), Filter())
    for _ in checking.steps():
        pass
    advice = checking.checked().advice_on("RUN001")
    assert advice.tried and "formatting" in advice.text and "stage" not in advice.text, advice


def test_a_fix_that_does_harm_is_told_as_that(tmp_path: Path) -> None:
    rows = [chat("Hello?", "Hi."), {"messages": [{"role": "user", "content": "Hm?"}]}]
    checking = AuditSession(opened(tmp_path, rows, preset("unsloth@2026.10")), Filter())
    for _ in checking.steps():
        pass
    advice = checking.checked().advice_on("LAB002")
    assert not advice.tried and "row 1 would be dropped" in advice.sentence()
    assert advice.sentence().startswith("no fix: changing mask.rule")


def test_tags_are_tried_as_the_transformers_of_the_recipe_renders(tmp_path: Path) -> None:
    """5.22.2 and later refuse a name with an underscore in a namespace."""
    template = tmp_path / "own.jinja"
    template.write_text("{% set ns = namespace(_n=0) %}" + chatml())
    recipe = changed(preset("trl"), "tokenizer.transformers", "5.20.0")
    (finding,) = tried(opened(tmp_path, [chat("Hello?", "Hi.")], recipe, f"file:{template}"), "LAB002")
    assert finding.fix is not None and finding.fix.template is not None, finding.declined


def of_tags(tmp_path: Path, *rows: Any) -> Advice:
    """What is advised where the mask needs tags that the template, which writes no calls, does not have."""
    (file := tmp_path / "plain.jinja").write_text(chatml())
    session = opened(tmp_path, rows, changed(preset("trl"), "mask.rule", "generation_tag"), f"file:{file}")
    checking = AuditSession(session, Filter())
    for _ in checking.steps():
        pass
    return checking.checked().advice_on("GEN001")


CALLS = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look", "arguments": {"at": "Ulm"}}}]}


@pytest.mark.parametrize("more", [[], [{"messages": [{"role": "user", "content": "Hm?"}, CALLS]}]])
def test_rows_that_stop_are_cured_as_their_mask_asks(tmp_path: Path, more: list[Any]) -> None:
    """Not by another mask, which would train their questions; what else is wrong with them is not held against it."""
    advice = of_tags(tmp_path, chat("Hello?", "Hi."), *more)
    assert advice.tried and "sftui template" in advice.text, advice


def test_rows_that_cost_too_much_are_tried_under_no_cure(tmp_path: Path) -> None:
    """Neither where the template is tagged nor where a finding of the set-up names them."""
    session = opened(tmp_path, [chat("Hello?", "Hi."), chat("And now?", "Bye."), chat("So?", "So.")], preset("trl"))
    session.checks().memo[COSTLY] = frozenset({1})
    (finding,) = tried(session, "LAB002")
    assert finding.fix is not None and finding.fix.template is not None
    for _ in with_cures(session, Finding("EOS008", Severity.WARNING, "", rows=(1, 2))):
        pass
    assert session.checks().once("as it is", dict[int, object]).keys() == {0, 2}


def fix_of_trained_questions(checking: AuditSession) -> Sequence[Any]:
    for _ in checking.steps():
        pass
    report = checking.checked()
    return report.changes(report.audit.found.codes["LAB002"].kept[0].finding)


def test_leaving_out_every_row_is_no_cure(tmp_path: Path) -> None:
    rows = [chat("Hello\x1b?", "Hi."), chat("And\x1b now?", "Bye.")]
    (finding,) = tried(opened(tmp_path, rows), "CON008")
    assert finding.repairs == ()
    (finding,) = tried(opened(tmp_path, [*rows, chat("Fine?", "Fine.")]), "CON008")
    assert finding.repairs == ("drop",)


def test_the_worker_tells_findings_first_and_then_what_helps(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace(recipe=changed(preset(), "mask.rule", "all"))
    heard.wait(ev.TokenizerChanged, lambda event: event.state in ("proven", "provisional"))
    workspace.ask(rq.FindingsRequest, 0)
    first = heard.wait(ev.FindingsReady)
    assert first.problem is None and not first.tried
    last = heard.wait(ev.FindingsReady, lambda event: event.tried)
    assert [one.code for one in last.findings] == [one.code for one in first.findings]
    assert all(one.repairs is not None for one in (*last.findings, *last.setup))
