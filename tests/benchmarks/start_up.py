"""How soon something is on screen: `python tests/benchmarks/start_up.py [TOKENIZER FOLDER]`.

Prints ratios within one run, since machines differ: first paint and, with a warm cache, first tokens
against an empty Textual app, and `sftui --help` against `python -c pass`. The first paint is
also measured in CPU time of the process that draws, which other programs do not lengthen.
"""

from __future__ import annotations

import statistics
import sys

from measure import EMPTY_APP, REPO, best, command, compile_sftui, once_until, times_until

SHARED = REPO.parent / "shared" / "testdata" / "tokenizers" / "llama-3-8b-instruct"
PAINTED = "? help"
"""The last words of the footer, which is drawn last: all of the first screen is there."""


def main(tokenizer: str) -> None:
    compile_sftui()
    data = str(REPO / "sample_data" / "chat_messages.jsonl")
    opened = ["-m", "sftui", data, "-t", tokenizer]
    times_until(opened, "proven", 1)  # warms the cache
    bare, helped = command([sys.executable, "-c", "pass"]), command([sys.executable, "-m", "sftui", "--help"])
    print(f"python -c pass     {best(bare)}")
    print(
        f"sftui --help       {best(helped)}   ({min(helped) / min(bare):.1f} times, bar"
        f" {2 * min(bare) * 1000 + 100:.0f} ms)"
    )
    # In turns, so that a busy moment of the machine meets all of them.
    turns = [
        (once_until(["-c", EMPTY_APP], "ready"), once_until(opened, PAINTED), once_until(opened, _tokens))
        for _ in range(11)
    ]
    for number, what in enumerate(("", " (CPU)")):
        empty, first = [turn[0][number] for turn in turns], [turn[1][number] for turn in turns]
        ratio = statistics.median(first) / statistics.median(empty)
        print(f"empty Textual app  {best(empty)}{what}")
        print(
            f"first paint        {best(first)}{what}   ({min(first) / min(empty):.2f} times, by medians {ratio:.2f},"
            " bar 1.5)"
        )
    empty, tokens = [turn[0][0] for turn in turns], [turn[2][0] for turn in turns]
    ratio = statistics.median(tokens) / statistics.median(empty)
    print(
        f"first tokens       {best(tokens)}   ({min(tokens) / min(empty):.2f} times the empty app, by medians"
        f" {ratio:.2f}, bar 3; tokenizer {tokenizer.rsplit('/', 1)[-1]})"
    )


def _tokens(text: str) -> bool:
    return "token" in text and "label" in text and "trained" in text


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(SHARED))
