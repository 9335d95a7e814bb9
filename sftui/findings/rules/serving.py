"""Templates on the rows themselves, side by side: what is trained, what is served, and what the tokenizer brings.

The ids in front of each trained answer next to those that a server sends there, the token that ends it next to those on
which generation ends, and a trainer's own template next to the tokenizer's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sftui.conversations.messages import parse_json
from sftui.errors import SftuiError
from sftui.findings.checks import CHATS, LABELLED, Fault, row_check, setup_check
from sftui.findings.context import Context
from sftui.findings.fixes import fix_of
from sftui.findings.look import RowLook, quoted, shown
from sftui.findings.model import Consequence, Fix, Severity
from sftui.findings.rule import GOOD, SHAREGPT, Rule, case, fatal, info
from sftui.findings.rules.eos import trained_ends
from sftui.findings.rules.template import absent_words
from sftui.model import NOWHERE, Conversation, Inspection, Kind, Message, Part, RenderedText, Span, common_prefix
from sftui.recipe import Render
from sftui.templates import choose_template, compile_template, render
from sftui.templates.apart import Distance, RenderDifference, parted
from sftui.text import visible
from sftui.trainers import trainer_of
from sftui.trainers.base import ReadChat
from sftui.trainers.own_config import key_of

if TYPE_CHECKING:
    from sftui.serving import ServedTemplate
    from sftui.templates import ChatTemplate
    from sftui.tokens import LoadedTokenizer

MOST_ANSWERS = 6
"""Of so many trained answers of a row the prompts are compared: the first ones, and the last."""
_WIDE, _AROUND = 72, 12
_MOST_BOS = 4
_NO_TOKENS = {"bos_token": "", "eos_token": ""}
"""A template that writes a token which the tokenizer does not have fails."""

TPL017 = fatal(
    "served-otherwise",
    "the model is served differently from how it is trained",
    "With --serve, sftui compares the prompt that the served template writes before each trained answer with"
    " what precedes the answer in training: the text around turns, the ids, and BOS. Different text is an error;"
    " whitespace, tools, BOS and a masked thought that the server leaves out are a warning, and text"
    " that only one of them writes before the first turn is a notice. Other findings report where a recipe's own"
    " template is inconsistent in the same way.",
    data="serve with the template you train with, or train with the one you will serve with",
    share=True,
    leads_to=Consequence.UNSERVED,
    bad=case(GOOD, serve="builtin:llama3"),
    good=case(GOOD, serve="builtin:chatml"),
)

TPL021 = info(
    "served-by-which-engine",
    "sftui compares the served template as Jinja renders it",
    "sftui renders the served template with Jinja, as transformers and vLLM do. llama.cpp has its own engine;"
    " servers in Rust use minijinja, transformers.js uses @huggingface/jinja: these support less, and write"
    " some values differently. If the template uses something tried in these two, the finding names it; nothing else is"
    " known about them.",
    data="serve a template without {% generation %} there, and check once what that engine writes",
    bad=case(GOOD, serve="builtin:chatml"),
)


@setup_check(TPL021)
def engine(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    served = context.tools.served
    if served is None:
        return
    from sftui.serving import GGUF, other_engines

    known = "; ".join(other_engines(served.templates.values()))
    own = "; llama.cpp, which reads GGUF files, has its own engine, which was not tested"
    others = f"; {known}" if known else "; nothing in it is known to differ in minijinja or @huggingface/jinja"
    yield Fault(
        f"{served.name} is rendered with Jinja, as transformers and vLLM do{own * (served.kind == GGUF)}{others}"
    )


EOS013 = fatal(
    "served-without-stop",
    "serving does not stop at the trained end token of an answer",
    "With --serve, sftui compares the tokens trained after an answer with those that stop generation when serving: the"
    " EOS of a served tokenizer and everything in its generation_config.json, or what a GGUF file names plus the"
    " tokens that llama.cpp recognises by their text. None of them is trained, so answers run on. A template alone,"
    " or a folder without generation_config.json, says nothing about it.",
    data="add the trained end token to generation_config.eos_token_id where you serve, or pass it to the server as a"
    " stop token",
    share=True,
    leads_to=Consequence.UNSTOPPED,
    bad=case(GOOD, tokenizer="gemma", serve="builtin:gemma", generation_config={"eos_token_id": 1}),
    good=case(GOOD, serve="builtin:chatml", generation_config={"eos_token_id": 0}),
)


@row_check(
    LABELLED,
    TPL017,
    of=lambda shape: not shape.dropped and shape.trains,
    recipe=lambda context: context.tools.served is not None,
    kinds=CHATS,
    several=True,
)
def served_otherwise(look: RowLook) -> Iterator[Fault]:
    """TPL017: found once for all rows with the same roles, calls, tools and thoughts, and the same ones trained."""
    shape = (*signature(look), look.shape.extents, look.conversation.template_kwargs != {})
    yield from _once(look, "served", shape, lambda _: _reports(look))


@row_check(
    LABELLED,
    EOS013,
    of=lambda shape: not shape.dropped,
    recipe=lambda context: context.tools.served is not None and context.tools.served.stops is not None,
    kinds=CHATS,
)
def served_without_stop(look: RowLook) -> Iterator[Fault]:
    """EOS013: of the special tokens trained behind an answer none ends generation."""
    served = look.context.tools.served
    if served is None or served.stops is None:
        return
    for turn, ends in trained_ends(look):
        if not ends or any(look.spelling.piece(i) in served.stops for i in ends):
            continue
        names = ", ".join(sorted(served.stops)) or "nothing known"
        what = f"answers end with {look.spelling.piece(ends[0])}, but generation with {served.name} stops on {names}"
        yield Fault(what, message=turn.message, tokens=(max(turn.content[0], ends[0] - 4), ends[0] + 1))


_SAID: Mapping[Distance, str] = {
    Distance.FAMILY: "writes different text from training",
    Distance.FRAME: "differs from training",
    Distance.THOUGHT: "and training differ: only one writes an empty thought",
    Distance.OPENING: "begins rows differently from training",
    Distance.CONTENT: "writes message content differently from training",
    Distance.IDS: "writes the same text as in training, with different ids",
}


def _severity(apart: Distance, template: ChatTemplate) -> Severity | None:
    """How bad it is where a template parts so; None for another family, as the rule has it."""
    if apart is Distance.FAMILY:
        return None
    # A family that thinks writes empty thoughts in several ways.
    grave = apart is Distance.FRAME or (apart is Distance.THOUGHT and _THOUGHT not in template.source)
    return Severity.WARNING if grave else Severity.INFO


def _compiled(context: Context, owner: str, templates: Mapping[str, str], tools: Any, own: bool) -> ChatTemplate:
    """The template that is taken where these tools are given; SftuiError where there is none."""
    name, source = choose_template(templates, tools)
    clock = context.template.clock if context.template is not None and not own else None
    return context.once((own, name), lambda: compile_template(source, f"{owner} ({name})", clock=clock))


def _reports(look: RowLook) -> tuple[SignatureFault, ...]:
    """All that is reported of a row: the worst difference of text or ids, and BOS."""
    served, trainer = look.context.tools.served, trainer_of(look.recipe)
    chat = trainer.as_chat(look.conversation, look.recipe, look.context.tools)
    if served is None or chat is None:
        return ()
    try:
        template = _compiled(look.context, served.name, served.templates, chat[1], False)
    except SftuiError as error:
        fault = Fault(f"{served.name} has no template for these rows: {error}", "", Severity.WARNING)
        return (SignatureFault(fault),)
    found: list[SignatureFault] = []
    for number in _answers(look):
        prompted = _PromptedAnswer(look, served, template, chat, number)
        made = prompted.prompt(template, served.special_tokens)
        if isinstance(made, str):
            what = f"the template of {served.name} rejects what comes before message {number} ({look.roles[number]})"
            at = RenderDifference(Distance.FRAME, NOWHERE, number, "", "")
            found.append(SignatureFault(Fault(what, shown(made), Severity.WARNING), at))
            rest = prompted.prompt(template, {**_NO_TOKENS, **served.special_tokens}, leave=look.roles[0] == "system")
            if isinstance(rest, RenderedText):  # without what it refuses, only its family is reported
                found += [
                    one for one in prompted.apart(rest) if one.difference and one.difference.apart is Distance.FAMILY
                ]
            continue
        if all(signature_fault.difference for signature_fault in found):
            found += prompted.bos(made)
        found += prompted.apart(made)
    worst = sorted((one for one in found if one.difference), key=_rank)[:1]
    if worst and worst[0].fault.severity is None:
        return tuple(worst)  # another family begins its texts in another way, too
    return (*worst, *[one for one in found if not one.difference][:1])


def _rank(report: SignatureFault) -> int:
    return (report.fault.severity or TPL017.severity).rank


def _answers(look: RowLook) -> tuple[int, ...]:
    """The trained answers whose prompts are compared."""
    drawn = [stretch for stretch, count in zip(look.stretches, look.mask.trained_in) if count]
    trained = {message for _, _, message, part in drawn if part is not Part.HEADER}
    found = [number for number, role in enumerate(look.roles) if role == "assistant" and number and number in trained]
    return (*found[: MOST_ANSWERS - 1], *found[MOST_ANSWERS - 1 :][-1:])


class _PromptedAnswer:
    """One trained answer of a row, and what a server gets for it: the messages before it."""

    def __init__(
        self, look: RowLook, served: ServedTemplate, template: ChatTemplate, chat: ReadChat, number: int
    ) -> None:
        self._look, self._served, self._template, self._number = look, served, template, number
        self._messages, self._tools, self._thought = chat
        self._own = look.context.tools.tokenizer
        self._bos = look.facts.bos_token or ""
        self._their_bos = str(served.special_tokens.get("bos_token") or "")
        self._leading_bos = _leading_ids(look.tokens.input_ids, look.facts.bos_id)

    def prompt(self, template: ChatTemplate, tokens: Mapping[str, Any], leave: int = 0) -> RenderedText | str:
        """What a template makes of the messages before the answer but for the first `leave`, with the generation prompt
        as `prompt`; why it refuses them."""
        return written_whole(self._look, self._messages[: self._number], self._tools, template, tokens, leave, True)

    def bos(self, made: RenderedText) -> Iterator[SignatureFault]:
        """How many BOS begin the row, and how many the server sends."""
        served, look = self._served, self._look
        theirs = _leading(made.prompt or "", self._their_bos)
        if served.adds_bos and self._their_bos:
            theirs = max(theirs, 1)
        ours = self._leading_bos
        if served.adds_bos is None or ours == theirs:
            return
        ids = look.tokens.input_ids
        added = ", which the server adds itself (add_bos_token)" if served.adds_bos else ""
        sent = f"{theirs} BOS" if theirs else "no BOS"
        fault = Fault(
            f"rows are trained with {f'{ours} BOS' if ours else 'no BOS'} at the start, but {served.name} sends"
            f" {sent}{added if theirs else ''}",
            f"{look.spelling.quote(0, min(ours + 2, len(ids)))} ≠ {f'[{self._their_bos}]' * theirs or 'no BOS'}",
            Severity.WARNING,
            tokens=(0, ours + 1),
        )
        yield SignatureFault(fault)

    def apart(self, made: RenderedText) -> Iterator[SignatureFault]:
        """Where what is trained before the answer parts from the prompt."""
        look, prompt = self._look, made.prompt or ""
        text, skipped = look.rendered.text, _leading(look.rendered.text, self._bos) * len(self._bos)
        theirs = _without(prompt, self._their_bos)
        start, end = self._place()
        until = skipped + len(theirs)
        if text.startswith(theirs, skipped) and self._said_by_model(until, start):
            yield from self._other_ids(prompt, until)
            return
        if self._same_by_own(theirs):
            return
        found = self._difference(made, text, skipped, start, end)
        if found is None:
            return
        sentence = f"the template of {self._served.name} {_SAID[found.apart]}{place_words(look, found)}"
        severity = _severity(found.apart, self._template)
        yield SignatureFault(Fault(sentence, sides(found.ours, found.theirs), severity), found)

    def _place(self) -> tuple[int, int]:
        """The characters of what the answer says; where it says nothing, or calls, the place behind its header."""
        look, number = self._look, self._number
        said = [span for span in look.rendered.spans if span.message == number and span.part is Part.CONTENT]
        if said:
            return said[0].start, said[-1].end
        headers = [span.end for span in look.rendered.spans if span.message == number and span.part is Part.HEADER]
        at = headers[0] if headers else len(look.rendered.text)
        return at, at

    def _said_by_model(self, until: int, start: int) -> bool:
        """Whether all that stands between the prompt and the answer is trained: the model writes it by itself."""
        if until >= start:
            return True
        tokens, drawn = self._look.tokens, self._look.mask.drawn
        between = [i for i, at in enumerate(tokens.starts) if until <= at < start and tokens.ends[i] > at]
        return all(drawn[i] for i in between)

    def _same_by_own(self, theirs: str) -> bool:
        """Whether the recipe's own template writes this prompt too: it parts from itself, of which others tell."""
        context = self._look.context
        if context.template is None or trainer_of(context.recipe).brings_template(context.recipe):
            return False
        made = self.prompt(context.template, context.tools.special_tokens)
        return _without(made.prompt or "" if isinstance(made, RenderedText) else "", self._bos) == theirs

    def _difference(self, made: RenderedText, text: str, skipped: int, start: int, end: int) -> RenderDifference | None:
        look, number, prompt = self._look, self._number, made.prompt or ""
        before = [span for span in look.rendered.spans if span.end <= end and span.message <= number]
        ours = replace(look.rendered, text=text[:end], spans=(*before, Span(start, end, number, Part.CONTENT)))
        common = common_prefix(made.text, prompt)
        spans = [span for span in made.spans if span.end <= common]
        said = text[start:end]
        theirs = replace(
            made, text=prompt + said, spans=(*spans, Span(len(prompt), len(prompt) + len(said), number, Part.CONTENT))
        )
        facts = look.context.tools.untouched.facts
        tokens = (facts.bos_token, facts.eos_token, self._their_bos, self._served.special_tokens.get("eos_token"))
        found = parted(
            ours,
            theirs,
            [str(message.get("role")) for message in self._messages],
            unsaid=[token for token in tokens if isinstance(token, str) and token],
            thought=self._thought,
            calls=frozenset(i for i, one in enumerate(self._messages[:number]) if one.get("tool_calls")),
            tools=bool(self._tools),
        )
        if found is not None:
            return found
        rest, other = text[skipped:end], _without(prompt, self._their_bos)
        at = common_prefix(rest, other)
        if at == len(other) and not said:
            return None
        return RenderDifference(Distance.FRAME, NOWHERE, NOWHERE, rest[at : at + 40], other[at : at + 40])

    def _other_ids(self, prompt: str, until: int) -> Iterator[SignatureFault]:
        """Where the text is the same and the ids are not."""
        look, served, context = self._look, self._served, self._look.context
        tokens, skipped = look.tokens, self._leading_bos
        ours = [one for one, end in zip(tokens.input_ids[skipped:], tokens.ends[skipped:]) if 0 < end <= until]
        own, reader = context.tools.tokenizer, context.tools.reader
        other, at_answer = served.tokenizer or reader, RenderDifference(Distance.IDS, NOWHERE, self._number, "", "")
        if served.pieces is not None:
            for i, token in enumerate(ours, skipped):
                piece = served.pieces.get(token, "nothing")
                if own.is_special(token) and piece != own.piece(token):
                    words = f"{own.piece(token)} in training but {piece} in the vocabulary of {served.name}"
                    yield SignatureFault(Fault(f"id {token} is {words}", look.spelling.quote(i, i + 1)), at_answer)
                    return
        try:
            sent = other.encode(prompt).ids
            same = other is reader or reader.encode(prompt).ids == sent
        except SftuiError:
            return
        sent = sent[_leading_ids(sent, other.facts.bos_id) :]
        at = next((i for i, (one, two) in enumerate(zip(ours, sent)) if one != two), None)
        if at is None or (same and self._in_one_go(ours)):
            return
        theirs = quoted(sent[at : at + 3], other)
        sentence = f"{'the template' if same else 'the tokenizer'} of {served.name} {_SAID[Distance.IDS]}"
        evidence = f"{look.spelling.quote(skipped + at, skipped + at + 3)} ≠ {theirs}"
        yield SignatureFault(Fault(sentence, evidence, Severity.INFO if same else None), at_answer)

    def _in_one_go(self, ours: Sequence[int]) -> bool:
        """Whether the trainer encodes the row as a whole: then only the edge of the prompt makes other ids, of which
        others tell."""
        look = self._look
        try:
            whole = self._own.encode(look.rendered.text).ids
        except SftuiError:
            return False
        return tuple(whole[_leading_ids(whole, look.facts.bos_id) :][: len(ours)]) == tuple(ours)


def _leading(text: str, bos: str) -> int:
    """How often a text begins with BOS."""
    return next(count for count in range(_MOST_BOS, -1, -1) if text.startswith(bos * count)) if bos else 0


def _without(text: str, bos: str) -> str:
    """A text without these."""
    return text[_leading(text, bos) * len(bos) :]


def _leading_ids(ids: Sequence[int], bos: int | None) -> int:
    return next((i for i, one in enumerate(ids[:_MOST_BOS]) if one != bos), min(len(ids), _MOST_BOS))


def sides(ours: str, theirs: str) -> str:
    """Two texts side by side; of long ones what differs, aligned from both ends, with a little around it."""
    start = end = 0
    if max(len(ours), len(theirs)) > _WIDE:
        start = common_prefix(ours, theirs)
        end = min(common_prefix(ours[::-1], theirs[::-1]), min(len(ours), len(theirs)) - start)
        start, end = max(0, start - _AROUND), max(0, end - _AROUND)

    def side(text: str) -> str:
        part = ("…" if start else "") + text[start : len(text) - end]
        return visible(part[:_WIDE]) + ("…" if end else "") if text else "nothing"

    return f"{side(ours)} ≠ {side(theirs)}"


_MOST_SHOWN = 60
_THOUGHT = "</think>"
MOST_SIGNATURES = 300
"""Of so many kinds of rows the first is compared: a hostile set has a new kind in every row."""

TPL016 = fatal(
    "template-of-another-family",
    "the trainer's template is not the tokenizer's own",
    "The trainer has its own template, which writes different text around the turns from the tokenizer's chat"
    " template, so what is trained is not what a server sends. If only whitespace, the end of a turn or the tools"
    " differ, it is a warning.",
    data="use the tokenizer's own template",
    share=True,
    leads_to=Consequence.UNSERVED,
    moves=("frame",),
    bad=case(SHAREGPT, preset="llamafactory@0.9", changes={"render.template": "llamafactory/llama3"}),
    good=case(SHAREGPT, preset="llamafactory@0.9", changes={"render.template": "llamafactory/chatml"}),
)

TPL027 = info(
    "text-around-the-chat",
    "the trainer's template begins or ends rows differently from the tokenizer's own",
    "One of the two templates writes a default system prompt, a date or an end-of-text token around the turns that the"
    " other does not write. Model families differ there on purpose. A server that renders with the tokenizer's template"
    " sends what the model did not see in training, or leaves out what it saw.",
    data="serve with the template you train with, or send what it writes as a system message",
    share=True,
    bad=case(SHAREGPT, preset="llamafactory@0.9", changes={"render.template": "llamafactory/qwen"}),
    good=case(SHAREGPT, preset="llamafactory@0.9", changes={"render.template": "llamafactory/chatml"}),
)


def _brings_its_own(context: Context) -> bool:
    """Whether the trainer renders with a template of its own, and the tokenizer has one as well."""
    return trainer_of(context.recipe).brings_template(context.recipe) and bool(context.facts.chat_templates)


@row_check(LABELLED, TPL016, TPL027, of=lambda shape: not shape.dropped, recipe=_brings_its_own, kinds=CHATS)
def other_family(look: RowLook) -> Iterator[Fault]:
    """TPL016, TPL027: found once for all rows with the same roles, calls, tools and thoughts."""
    yield from _once(look, "beside", signature(look), lambda fitting: _compared(look, fitting))


def _fix(context: Context, rule: Rule, fits: str | None, title: str) -> Fix | None:
    made = fix_of(context, rule, [("render.template", fits)] if fits else [], title)
    if made is None or not made.changes or fits is None:
        return made
    key = key_of(context.recipe.preset, "render.template")
    return replace(made, trainer_keys={**made.trainer_keys, context.trainer: f"{key}: {fits.partition('/')[2]}"})


_SAID_OF_OWN: Mapping[Distance, tuple[str, str]] = {
    Distance.FAMILY: ("the trainer's template writes different text from the tokenizer's own", ""),
    Distance.FRAME: ("the trainer's template differs from the tokenizer's own", ""),
    Distance.THOUGHT: ("of the trainer's template and the tokenizer's own, only one writes an empty thought", ""),
    Distance.OPENING: (TPL027.title, ""),
    Distance.CONTENT: (
        "the trainer's template writes message content differently from the tokenizer's own",
        "serve with the template you train with, or write content that both leave unchanged",
    ),
    Distance.IDS: (
        "the trainer's template and the tokenizer's own write the same text, but the trainer encodes it to different"
        " ids",
        "remove leading and trailing whitespace from the content: the trainer encodes them separately from the"
        " surrounding text",
    ),
}


def _split(context: Context, found: RenderDifference) -> str:
    """Which control words of another family the tokenizer cuts into pieces."""
    absent = absent_words(found.ours, context.tools.untouched) if found.apart is Distance.FAMILY else []
    return f"; {', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not in its vocabulary" if absent else ""


def signature(look: RowLook) -> tuple[object, ...]:
    """What decides how a row is rendered, whatever its texts say."""
    messages = look.messages
    thinking = messages if _THOUGHT in look.spoken else ()
    thoughts = tuple([_THOUGHT in str(message.data.get("content")) for message in thinking])
    calls = tuple([bool(message.data.get("tool_calls")) for message in messages])
    tools = look.conversation.tools
    offered = bool(parse_json(tools) if isinstance(tools, str) else tools)  # an empty list may be there as its JSON
    return look.roles, look.read.manner.edged, offered, calls, thoughts


@dataclass(frozen=True, slots=True)
class SignatureFault:
    """What is wrong with all rows of a signature: the fault, between which messages, and `fits`: the trainer's template
    that renders as the tokenizer's, where there is one."""

    fault: Fault
    difference: RenderDifference | None = None
    fits: str | None = None

    def fault_in(self, look: RowLook) -> Fault:
        """The fault at its place in one of the rows."""
        apart = self.difference
        if apart is None:
            return self.fault
        message = None if apart.after == NOWHERE else apart.after
        return replace(self.fault, message=message, tokens=place_of(look, apart))


def _once(
    look: RowLook, name: str, shape: object, compare: Callable[[Sequence[str]], tuple[SignatureFault, ...]]
) -> Iterator[Fault]:
    """What is wrong with all rows of this shape, compared at the first of them; `compare` is given the templates that
    fitted others."""
    compared: dict[object, tuple[SignatureFault, ...]] = look.context.once(name, dict)
    if shape not in compared and len(compared) < MOST_SIGNATURES:
        compared[shape] = compare([one.fits for some in compared.values() for one in some if one.fits is not None])
    return (report.fault_in(look) for report in compared.get(shape, ()))


def _compared(look: RowLook, before: Sequence[str]) -> tuple[SignatureFault, ...]:
    """The row next to the tokenizer's own rendering of it; nothing where they are the same, or nobody can tell."""
    context, conversation = look.context, look.conversation
    given, trainer = context.tools.untouched, trainer_of(context.recipe)
    chat = trainer.as_chat(conversation, context.recipe, context.tools)
    if chat is None:
        return ()
    messages, tools, thought = chat
    facts = given.facts
    roles = [str(one.get("role")) for one in messages]
    calls = frozenset(number for number, message in enumerate(messages) if message.get("tool_calls"))
    unsaid = [token for token in (facts.bos_token, facts.eos_token) if token]
    try:
        template = _compiled(context, facts.name, facts.chat_templates, tools, True)
    except SftuiError:
        return ()
    theirs = written_whole(look, messages, tools, template, facts.template_tokens)
    if isinstance(theirs, str) and len(messages) > 1 and roles[0] == "system":  # some families refuse it
        theirs = written_whole(look, messages, tools, template, facts.template_tokens, 1)
    if isinstance(theirs, str):
        return ()
    whole = says_all(theirs, messages)  # else only its family is reported: what it leaves out, other findings say
    found = parted(look.rendered, theirs, roles, unsaid=unsaid, thought=thought, calls=calls, tools=bool(tools))
    if found is None and look.rendered.text == theirs.text:
        found = _encoded(look, given)
    if found is None or not (whole or found.apart is Distance.FAMILY):
        return ()
    far = found.apart >= Distance.THOUGHT and whole
    fits = trainer.fitting(conversation, theirs.text, context.recipe, context.tools, before) if far else None
    what, title = _SAID_OF_OWN[found.apart]
    sentence = f"{what}{place_words(look, found)}{_split(context, found)}"
    evidence = f"{written(found.ours)} ≠ {written(found.theirs)}"
    rule = TPL027 if found.apart is Distance.OPENING else TPL016
    fix = _fix(context, rule, fits, title)
    fault = Fault(sentence, evidence, _severity(found.apart, template), rule=rule, fix=fix)
    return (SignatureFault(fault, found, fits),)


def _encoded(look: RowLook, tokenizer: LoadedTokenizer) -> RenderDifference | None:
    """Where the ids part though the text is the same: the trainer encodes it piece by piece. What it appends is left
    out."""
    try:
        own, ids = tokenizer.encode(look.rendered.text).ids, look.tokens.input_ids
    except SftuiError:
        return None
    at = next((i for i, (one, other) in enumerate(zip(ids, own)) if one != other), None)
    if at is None:
        return None
    theirs = quoted(own[at : at + 3], tokenizer)
    return RenderDifference(Distance.IDS, NOWHERE, NOWHERE, look.spelling.quote(at, at + 3), theirs)


def written_whole(
    look: RowLook,
    messages: Sequence[Mapping[str, Any]],
    tools: Any,
    template: ChatTemplate,
    tokens: Mapping[str, Any],
    leave: int = 0,
    prompt: bool = False,
) -> RenderedText | str:
    """What a template makes of messages but for the first `leave`, if it can be with all that they say, with the row's
    own variables and the generation prompt where it is a prompt; why it refuses them."""
    from sftui.templates.probe import in_parts

    first, why, left = None, "", messages[leave:]
    kwargs = look.conversation.template_kwargs if prompt else {}
    for some in (left, [in_parts(one) for one in left]):  # templates of models that see take parts alone
        chat = tuple(Message(dict(one), "") for one in some)
        try:
            made = render(
                Conversation(Kind.CHAT, "messages", chat, tools=tools, template_kwargs=kwargs),
                template,
                special_tokens=tokens,
                options=Render(kwargs=look.context.template_kwargs),
                prompt_messages=len(chat) if prompt else None,
            )
        except SftuiError as error:
            why = why or str(error)
            continue
        whole = says_all(made, left)
        if leave:  # each is counted so many on
            spans = [span._replace(message=span.message + leave) for span in made.spans if span.message != NOWHERE]
            made = replace(made, spans=tuple(spans))
        if whole:
            return made
        first = first or made
    return first or why


def says_all(rendered: RenderedText, messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the rendering has a content for each message that says something."""
    there = {span.message for span in rendered.spans if span.part is Part.CONTENT}
    return all(number in there for number, one in enumerate(messages) if one.get("content"))


def place_words(look: RowLook, found: RenderDifference) -> str:
    if found.before == found.after == NOWHERE:
        return "" if found.apart is Distance.IDS else " in what messages say"
    if found.before == NOWHERE:
        return f" before message {found.after} ({look.roles[found.after]})"
    if found.after == NOWHERE:
        return f" after message {found.before} ({look.roles[found.before]})"
    return f" between message {found.before} ({look.roles[found.before]}) and {found.after} ({look.roles[found.after]})"


def place_of(look: RowLook, found: RenderDifference) -> tuple[int, int] | None:
    """The tokens of this row between the two messages, those around it where there are none."""
    start, end = 0, len(look.tokens)
    if found.before == found.after == NOWHERE:
        return None
    for begin, until, message, part in look.stretches:
        if part is Part.CONTENT and message == found.before != NOWHERE:
            start = until
        if part is Part.CONTENT and message == found.after != NOWHERE:
            end = min(end, begin)
    return (start, end) if start < end else (max(0, start - 1), min(start + 1, len(look.tokens)))


def written(text: str) -> str:
    return visible(text if len(text) <= _MOST_SHOWN else "…" + text[-_MOST_SHOWN:]) if text else "nothing"
