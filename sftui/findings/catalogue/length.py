"""Truncation and dropped rows."""

from sftui.findings.catalogue.entry import entry

ENTRIES = (
    entry("TRU001", "answer-cut-off", "FATAL", "row", "the whole answer is cut off",
          "The prompt alone fills the length limit, so nothing trained is left.",
          trl="max_length: null, or larger", axolotl="sequence_len, excess_length_strategy: drop", llamafactory="cutoff_len", unsloth="max_seq_length",
          torchtune="max_seq_len", hf="a larger max_length, or drop the row"),
    entry("TRU002", "stop-token-cut", "MAJOR", "row", "the answer is cut before its end",
          "What is left of it is trained without a stop token. Many such rows teach the model not to stop.",
          trl="filter rows by length first, or a larger max_length", axolotl="excess_length_strategy: drop", llamafactory="cutoff_len: larger",
          torchtune="max_seq_len: larger", unsloth="max_seq_length: larger", hf="drop long rows, or a larger max_length"),
    entry("TRU009", "longer-than-the-model", "MAJOR", "row", "the row is longer than the model's own limit",
          "No length limit is set, and the row exceeds model_max_length: memory runs out, or positions are used that the model was never trained on.",
          trl="max_length", axolotl="sequence_len", llamafactory="cutoff_len", unsloth="max_seq_length", torchtune="max_seq_len", hf="max_length"),
    entry("TRU003", "header-cut", "FATAL", "row", "the cut takes the end of the prompt and the answer's header",
          "LLaMA-Factory cuts prompt and answer in proportion, each at its end, so the answer follows half a question.",
          llamafactory="cutoff_len: larger, filter long rows, or mask_history: true"),
    entry("TRU004", "cut-from-the-left", "MAJOR", "row", "the beginning of the row is cut off",
          "BOS, system message and tools are lost.", trl="truncation_mode: keep_start", torchtune="truncation_type: right (since 0.7; 0.6.1 always cuts on the right)", hf="truncation_side = \"right\"",
          data="cut on the right, or drop long rows"),
    entry("TRU005", "default-length", "MAJOR", "dataset", "the trainer's default length cuts rows",
          "Nobody chose this limit: it is the trainer's default, and it takes trained tokens away.",
          trl="max_length (default 1024)", axolotl="sequence_len", llamafactory="cutoff_len (default 2048)", unsloth="max_seq_length", torchtune="max_seq_len", hf="max_length"),
    entry("TRU006", "row-dropped", "MAJOR", "row", "the trainer drops this row",
          "It never reaches the model; most trainers say so nowhere.", trl="rows without a trained token are dropped", axolotl="excess_length_strategy",
          llamafactory="rows with a wrong order of roles are dropped", data="repair the row, or accept it"),
    entry("TRU007", "media-placeholder-cut", "LOUD", "row", "media placeholders are cut off",
          "The number of placeholders no longer fits the number of images.", trl="max_length: null for vision models", data="a larger length limit"),
)
