"""The markers that Unsloth finds in a chat template by itself, when none are given.

A short conversation of marked contents is rendered, and what stands between the contents is read:
before an answer the response marker, before a question the instruction marker. Source: unsloth_zoo
2026.10.7 and 2026.8.13, unsloth_zoo/dataset_utils.py `get_chat_template_parts`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from sftui.errors import RecipeError, SftuiError
from sftui.model import common_prefix
from sftui.templates import ChatTemplate
from sftui.tokens import LoadedTokenizer
from sftui.trainers.unsloth.markers import find_marker, named_specials

QUESTION, ANSWER = "\u2060QUESTIONPROBE7q\u2060", "\u2060ANSWERPROBE4z\u2060"
"""Word joiners at the edges: a template's trim leaves them, and no token of a marker reaches over them."""

Wrap = Callable[[str], Any]
_FIX = "give instruction_part and response_part"


@dataclass(frozen=True, slots=True)
class _Probe:
    """The rendered probe and what it was rendered with."""

    template: ChatTemplate
    tokenizer: LoadedTokenizer
    specials: tuple[str, ...]
    question: Wrap
    answer: Wrap
    text: str

    def render(self, messages: Sequence[dict[str, Any]], prompt: bool = False) -> str:
        tokens = self.tokenizer.facts.template_tokens
        return self.template.text(messages, add_generation_prompt=prompt, variables=tokens)[0]

    def turn(self, question: Any = None, answer: Any = None) -> list[dict[str, Any]]:
        """A question and an answer, those of the probe where no others are given."""
        asked, said = question or self.question(QUESTION), answer or self.answer(ANSWER)
        return [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]


def find_parts(template: ChatTemplate, tokenizer: LoadedTokenizer, *, newest: bool) -> tuple[str, str]:
    """(instruction_part, response_part); RecipeError where Unsloth gives up. `newest`: the rules since 2026.10."""
    probe = _probe(template, tokenizer)
    asked_gap, answer_gap = _usual_gap(probe.text, ANSWER, QUESTION), _usual_gap(probe.text, QUESTION, ANSWER)
    facts = tokenizer.facts
    eos, bos = facts.eos_token or "", facts.bos_token or ""
    open_end = (probe.turn() * 3)[:-1]
    prompted, plain = probe.render(open_end, True), probe.render(open_end)
    header = "" if prompted == plain else _without_shared(_tail(prompted), _tail(plain), probe.specials)[0]
    if header and answer_gap.endswith(header) and len(header) < len(answer_gap):
        answer, asked = header, _strip_front(asked_gap, answer_gap[: -len(header)])
    elif header and header == answer_gap:
        answer, asked = _without_shared(header, asked_gap, probe.specials)
        asked = _strip_front(asked, " ", "\t", eos, bos)
    else:  # no header of the assistant, as in [INST] templates
        answer, asked = (_strip_front(gap, " ", "\t", eos, bos) for gap in (answer_gap, asked_gap))
    if newest:
        asked, answer = _without_image(asked, answer, _tail(plain), probe)
    answer = _without_thinking(answer, probe)
    if newest:
        answer = _shared_header(answer, answer_gap, asked_gap, probe)
    asked, answer = (_strip_front(one, " ", "\t").rstrip(" \t") for one in (asked, answer))
    if not asked or not answer:
        raise RecipeError("Unsloth finds an empty marker in this chat template", fix=_FIX)
    ids = tokenizer.encode(probe.text).ids
    return (
        _proven(asked, "instruction_part", ids, tokenizer, newest),
        _proven(answer, "response_part", ids, tokenizer, newest),
    )


def _probe(template: ChatTemplate, tokenizer: LoadedTokenizer) -> _Probe:
    """Contents as text, as parts, or as parts for the user alone: the first that renders."""
    added = {content for content, _ in tokenizer.engine.added().values()}
    specials = tuple(sorted({*named_specials(tokenizer), *added} - {""}, key=len, reverse=True))

    def parts(text: str) -> Any:
        return [{"type": "text", "text": text}]

    for question, answer in ((str, str), (parts, parts), (parts, str)):
        probe = _Probe(template, tokenizer, specials, question, answer, "")
        try:
            text = probe.render(probe.turn() * 3)
        except SftuiError:
            continue
        if QUESTION in text and ANSWER in text:
            return replace(probe, text=text)
    raise RecipeError("Unsloth finds no turns in this chat template", fix=_FIX)


def _gaps(text: str, before: str, after: str) -> list[str]:
    """What stands between each `before` and the next `after`."""
    return re.findall(f"(?={re.escape(before)}(.*?){re.escape(after)})", text, re.DOTALL)


def _usual_gap(text: str, before: str, after: str) -> str:
    gaps = _gaps(text, before, after)
    return Counter(gaps).most_common(1)[0][0] if gaps else ""


def _tail(text: str) -> str:
    return text.rpartition(QUESTION)[2] if QUESTION in text else ""


def _strip_front(text: str, *prefixes: str) -> str:
    """Without the prefixes, as often as they stand in front."""
    stripped = True
    while stripped:
        stripped = False
        for prefix in prefixes:
            if prefix and text.startswith(prefix):
                text, stripped = text[len(prefix) :], True
    return text


def _without_shared(one: str, other: str, specials: Sequence[str]) -> tuple[str, str]:
    """Both without the special tokens and white space with which both begin."""
    while True:
        blank, other_blank = _blank(one), _blank(other)
        if blank and blank == other_blank:
            one, other = one[len(blank) :], other[len(blank) :]
            continue
        token = next((special for special in specials if one.startswith(special)), "")
        if not token or not other.startswith(token):
            return one, other
        one, other = one[len(token) :], other[len(token) :]


def _blank(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


def _without_image(asked: str, answer: str, user_end: str, probe: _Probe) -> tuple[str, str]:
    """Where an image splits the user's terminator, the response marker does without that terminator."""
    rest = user_end
    while rest:
        token = next((special for special in probe.specials if rest.startswith(special)), "") or _blank(rest)
        if not token:
            return asked, answer
        rest = rest[len(token) :]
    if not user_end or not answer.startswith(user_end) or len(user_end) >= len(answer):
        return asked, answer
    content = [{"type": "text", "text": QUESTION}, {"type": "image"}]
    with suppress(SftuiError):
        text = probe.render(probe.turn(content))
        if answer not in text and answer[len(user_end) :] in text:
            return _strip_front(asked, user_end), answer[len(user_end) :]
    return asked, answer


def _without_thinking(answer: str, probe: _Probe) -> str:
    """Without an empty think block at the end of the header, if an answer that thinks has none there."""
    found = re.search(r"<([^\s/>]+)>\s*</\1>\s*$", answer) or re.search(r"</([^\s/>]+)>\s*$", answer)
    if not found or not found.start():
        return answer
    tag, block, header = found.group(1), answer[found.start() :], answer[: found.start()]
    with suppress(SftuiError):
        text = probe.render(probe.turn(None, probe.answer(f"<{tag}>rZ9</{tag}>{ANSWER}")))
        _, there, rest = text.rpartition(header)
        return header if there and not rest.startswith(block) else answer
    return answer


def _shared_header(answer: str, answer_gap: str, asked_gap: str, probe: _Probe) -> str:
    """The part of the header that the last answer has as well, where it differs from the others."""
    gaps = _gaps(probe.text, QUESTION, ANSWER)
    at = answer_gap.find(answer) if answer else -1
    if not gaps or at < 0 or answer in gaps[-1] or not gaps[-1].startswith(answer_gap[:at]):
        return answer
    usual, last = answer_gap[at:], gaps[-1][at:]
    same = common_prefix(usual, last)
    while same and not usual[same - 1].isspace() and not any(usual[:same].endswith(token) for token in probe.specials):
        same -= 1
    shared = usual[:same]
    return shared if shared.strip() and shared not in asked_gap and all(shared in gap for gap in gaps) else answer


def _proven(part: str, name: str, ids: Sequence[int], tokenizer: LoadedTokenizer, newest: bool) -> str:
    """The marker as it stands, or after a space or a new line, whichever is found twice in the probe's ids."""
    counts = {}
    for candidate in (part, " " + part, "\n" + part):
        marker = find_marker(candidate, tokenizer, force=True, edges=newest)
        counts[candidate] = sum(marker.at(ids, at) for at in range(len(ids))) if marker.core else 0
    twice = [candidate for candidate, count in counts.items() if count >= 2]
    for candidate in (*twice, *(candidate for candidate in [*counts][:2] if counts[candidate])):
        return candidate
    raise RecipeError(
        f"Unsloth cannot find the {name} reliably",
        why=f"its ids do not appear in a rendered conversation ({part!r})",
        fix=_FIX,
    )
