"""Which engine encodes whole datasets for each tokenizer of ../shared: `python tests/benchmarks/engines.py [FOLDER]`.

For every tokenizer in FOLDER: whether it loads, what `shortcuts.bulk` encodes it with after its proof (gigatoken, or
`encode_batch_fast` of tokenizers), where offsets come from (the bytes of the tokens, or tokenizers), or whether it is
on the slow path of transformers; and why, where it is not on the fastest. Then how many are on each.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from measure import REPO
from rows import SHARED, sentences

sys.path.insert(0, str(REPO))

from sftui.errors import SftuiError
from sftui.tokens import ToEncode, load_tokenizer
from sftui.tokens.loaded import FastEngine
from sftui.tokens.shortcuts.bulk import Bulk, fast_engine
from sftui.tokens.shortcuts.gigatokens import gigatoken_of
from sftui.tokens.shortcuts.offsets import byte_offsets


def why_not(engine: FastEngine) -> str:
    """What gigatoken says of a tokenizer that it does not encode."""
    try:
        fast = gigatoken_of(engine)
    except BaseException as error:  # a panic of Rust is no Exception
        return f"gigatoken: {type(error).__name__}: {str(error).splitlines()[0][:90]}"
    return "gigatoken would pass over a part of it" if fast is None else "gigatoken gives other ids for the texts"


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED / "tokenizers"
    texts = [ToEncode(text) for text in sentences()[:200]]
    found: Counter[str] = Counter()
    for path in sorted(folder.iterdir()):
        try:
            tokenizer = load_tokenizer(str(path))
        except SftuiError as error:
            found["does not load"] += 1
            print(f"{path.name:22} does not load: {error.what}")
            continue
        found["loads"] += 1
        below = fast_engine(tokenizer)
        if below is None:
            found["slow path"] += 1
            print(f"{path.name:22} slow path: no tokenizers backend")
            continue
        bulk = Bulk()
        bulk.of(tokenizer)
        bulk.faster(tokenizer, texts)
        fast, by_bytes = bulk.engine == bulk.FAST, byte_offsets(below.backend) is not None
        engine = "gigatoken" if fast else "encode_batch_fast"
        offsets = "offsets by bytes" if by_bytes else "offsets of tokenizers"
        found.update((engine, offsets))
        reasons = [*([] if fast else [why_not(below)]), *([] if by_bytes else ["no byte-level vocabulary"])]
        print(f"{path.name:22} {engine}, {offsets}" + f" ({'; '.join(reasons)})" * bool(reasons))
    print(", ".join(f"{number} {name}" for name, number in found.items()))


if __name__ == "__main__":
    main()
