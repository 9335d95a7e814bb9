"""What only the whole dataset can tell."""

from sftui.findings.catalogue.entry import entry

ENTRIES = (
    entry(
        "RUN001",
        "nothing-is-trained",
        "FATAL",
        "dataset",
        "the run trains nothing: every row is dropped or masked",
        "Where no row is left the trainer stops, each in its own words (Unsloth already where it masks); over rows that"
        " are all masked TRL, Axolotl and a plain loop run to the end and learn nothing.",
        data="mend what drops or masks the rows, which the findings of single rows say",
    ),
    entry(
        "DUP001",
        "duplicates",
        "MINOR",
        "dataset",
        "rows that say the same",
        "Identical in all that is trained, media, tools and flags included; white space that cannot be seen aside. They"
        " are trained twice and hide in train/eval splits.",
        axolotl="dataset_exact_deduplication: true",
        data="remove all but one",
    ),
    entry(
        "DUP002",
        "train-eval-leak",
        "MAJOR",
        "dataset",
        "prompts of the evaluation set are also trained",
        "The evaluation then measures memory.",
        axolotl="dataset_exact_deduplication: true",
        data="split by prompt or document, not by row",
    ),
    entry(
        "DUP003",
        "prompt-with-several-answers",
        "INFO",
        "dataset",
        "one prompt has several answers",
        "Fine for variety, a problem where the answers contradict each other.",
        data="look at the rows",
    ),
    entry(
        "CFG001",
        "stale-cache",
        "FATAL",
        "row",
        "stored ids are not what the recipe gives now",
        "The row holds messages and ids, and they differ: the ids come from a cache of another template, tokenizer or"
        " setting.",
        axolotl="delete the folder of dataset_prepared_path",
        llamafactory="overwrite_cache: true, and delete the folder of tokenized_path",
        data="tokenize again",
    ),
)
