"""Real tokenizers on real texts: the proven backend gives AutoTokenizer's ids and offsets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from references import load_reference

from sftui.tokens import LoadedTokenizer
from sftui.tokens.loading.locate import locate

NAMES = ("bert-base-cased", "llama-3-8b-instruct", "minimind", "phi-3-mini", "qwen2.5", "t5-small")
LONGEST = 20_000
PER_FILE = 150

pytestmark = pytest.mark.shared


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


@pytest.fixture(scope="module")
def texts(shared: Path) -> list[str]:
    found: dict[str, None] = {}
    for path in sorted((shared / "testdata" / "datasets").glob("*.json*")):
        rows = []
        if path.suffix == ".jsonl":
            for line in path.read_text(errors="replace").splitlines():
                try:
                    rows.append(json.loads(line))
                except ValueError:
                    continue
        else:
            rows = json.loads(path.read_text())
        some = [text for text in strings(rows) if text and len(text) <= LONGEST]
        some = [text for text in some if not any("\ud800" <= char <= "\udfff" for char in text)]
        step = max(1, len(some) // PER_FILE)
        found.update(dict.fromkeys(some[::step]))
    return list(found)


@pytest.fixture(scope="module", params=NAMES)
def pair(request: pytest.FixtureRequest, shared: Path, load_kept: Callable[[str], LoadedTokenizer]) -> tuple[Any, Any]:
    folder = str(shared / "testdata" / "tokenizers" / request.param)
    return load_kept(folder), load_reference(locate(folder))


@pytest.mark.one_of(3)
def test_ids_and_offsets_on_real_texts(
    pair: tuple[Any, Any], texts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    loaded, auto = pair
    assert (loaded.facts.state, loaded.facts.engine) == ("proven", "tokenizers")
    assert loaded.facts.probes > 150
    tokens = 0
    for special in (False, True):
        theirs = auto(texts, add_special_tokens=special, return_offsets_mapping=True, return_special_tokens_mask=True)
        ours = loaded.encode_batch(texts, special)
        for i, one in enumerate(ours):
            assert list(one.ids) == theirs["input_ids"][i], texts[i][:100]
            put = theirs["special_tokens_mask"][i]
            spans = [(-1, -1) if p else tuple(o) for o, p in zip(theirs["offset_mapping"][i], put)]
            assert list(zip(one.starts, one.ends)) == spans, texts[i][:100]
            tokens += len(one)
    with capsys.disabled():
        print(
            f"\n{loaded.facts.name.rsplit('/', 1)[-1]}: {2 * len(texts)} texts, {tokens} tokens equal,"
            f" {loaded.facts.probes} probes"
        )


def test_surfaces_spell_the_text(pair: tuple[Any, Any], texts: list[str]) -> None:
    """Byte-level and byte-fallback tokenizers lose nothing: the surfaces in order are the text."""
    loaded, _ = pair
    kind = loaded.engine.decoding
    if not (kind.byte_level or kind.byte_fallback):
        pytest.skip("this kind of tokenizer normalises text away")
    import unicodedata

    from sftui.model import RenderedText
    from sftui.recipe import Tokenize
    from sftui.tokens import token_text, tokenize

    for text in texts[:400]:
        row = RenderedText(text)
        written = token_text(tokenize(row, loaded, Tokenize(mode="whole")), row, loaded)
        whole = b"".join(written.surfaces).decode()
        # Tokens that swallow white space beside them do not spell it; NFC is part of some tokenizers.
        if not any(token in text for token in ("<|", "</s>", "<s>")):
            assert whole in (text, unicodedata.normalize("NFC", text)), text[:100]


def test_special_tokens_are_what_templates_get(pair: tuple[Any, Any]) -> None:
    loaded, auto = pair
    assert loaded.facts.special_tokens == auto.special_tokens_map
    assert loaded.facts.vocab_size == len(auto)
    template = auto.chat_template
    assert loaded.facts.chat_templates == ({} if template is None else {"default": template})


def test_a_128k_tokenizer_is_light_and_quick(shared: Path, kept_proofs: Path) -> None:
    """Memory of a clean process with the vocabulary of Llama 3; 165 MB is what a whole worker may take."""
    import os
    import subprocess
    import sys

    code = (
        "import sys, time, psutil\nfrom sftui.tokens import load_tokenizer\nbefore = time.process_time()\nloaded ="
        " load_tokenizer(sys.argv[1])\nspent = time.process_time() -"
        " before\nloaded.encode('Hello')\nprint(psutil.Process().memory_info().rss >> 20, spent, 'numpy' in"
        " sys.modules, 'transformers' in sys.modules)"
    )
    name = str(shared / "testdata" / "tokenizers" / "llama-3-8b-instruct")
    for _ in range(2):
        ended = subprocess.run(
            [sys.executable, "-c", code, name],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
            env={**os.environ, "SFTUI_CACHE": str(kept_proofs), "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
        )
    memory, spent, numpy, transformers = ended.stdout.split()
    assert (numpy, transformers) == ("False", "False")
    assert int(memory) < 165, f"{memory} MB"
    assert float(spent) < 3, f"{spent} s of processor time"
