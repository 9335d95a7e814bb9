"""Stop tokens: whether a model learns to end its turn, and with the token that generation waits for."""

from sftui.findings.catalogue.entry import entry

_PAD = "give the tokenizer a pad token of its own, one that already exists"

ENTRIES = (
    entry("EOS001", "no-stop-token", "FATAL", "row", "the row does not end with a stop token",
          "The model is never shown where an answer ends, and rambles to the token limit. Rows that were cut are TRU002.",
          trl="EOS is appended to text and completion columns, not to messages: use a template that ends turns", axolotl="formats add it; for completion put it into the text",
          llamafactory="template with efficient_eos or a suffix", unsloth="add tokenizer.eos_token in the formatting function", torchtune="add_eos: true",
          hf="append tokenizer.eos_token to every text"),
    entry("EOS002", "eos-masked-as-pad", "FATAL", "row", "EOS is masked because it is also the pad token",
          "A collator set every label equal to the pad id to -100, so the real EOS is never learnt.",
          trl="set tokenizer.pad_token to another token", axolotl="special_tokens.pad_token", unsloth="repairs the pad token itself",
          hf="pad labels by length, or " + _PAD, llamafactory="pads labels on their own: not affected", torchtune="pads labels on their own: not affected"),
    entry("EOS003", "wrong-stop-token", "FATAL", "setup", "the trained terminator is not what generation stops on",
          "Answers end with one token while generation_config.json, or the tokenizer's EOS, names another, so generation runs on.",
          trl="eos_token: \"<the turn end>\"", axolotl="special_tokens.eos_token, or eot_tokens:", llamafactory="a template with replace_eos",
          hf="generation_config.eos_token_id = [...]", unsloth="generation_config.eos_token_id = [...]"),
    entry("EOS004", "terminator-not-trained", "FATAL", "row", "the end of a trained answer is masked",
          "The answer is trained but its stop token is not, so the model never learns to stop. Axolotl trains only tokens of eot_tokens, by default "
          "the tokenizer's EOS, which Gemma's template never prints.",
          axolotl="eot_tokens: [\"<the turn end>\"], train_on_eot: turn", trl="move the generation tag behind the turn end",
          hf="include the terminator in the trained span", unsloth="set no instruction_part that begins before the turn end"),
    entry("EOS006", "stop-masked-by-max-length", "FATAL", "row", "torchtune masks the last token as soon as max_seq_len is set",
          "Its Qwen tokenizers replace the last value of the mask even where nothing was cut, so the stop token of the last answer is never learnt. "
          "Llama 3 is spared: its turn end stands before that token.", torchtune="leave max_seq_len unset and drop long rows beforehand"),
    entry("EOS007", "doubled-stop-token", "MINOR", "row", "two stop tokens follow each other",
          "Data and template, or template and trainer, both add one. Some families do it on purpose.",
          axolotl="remove one of eot_tokens and special_tokens.eos_token", data="remove the stop token from the data"),
    entry("EOS008", "trained-after-stop", "MINOR", "setup", "white space behind the stop token is trained",
          "Generation stops before it, so the loss there teaches nothing.", trl="close the generation tag before the line break", data="harmless; set mask.trailing to mask"),
    entry("EOS009", "trl-text-column-without-eos", "FATAL", "setup", "this TRL appends EOS only to a column called `text`",
          "Before 1.15 the map that appends EOS tests for the literal name, so another dataset_text_field gets none.",
          trl="upgrade to 1.15 or later, or rename the column to text"),
    entry("EOS010", "control-tokens-untrained", "MAJOR", "setup", "the template's control tokens are new to this base model",
          "The tokenizer brings no template of its own, so the control tokens that the recipe's template writes were hardly trained. LoRA on attention alone "
          "leaves their embeddings as they are and the model never emits them.",
          trl="lora_modules_to_save: [embed_tokens, lm_head], or trainable_token_indices of peft", axolotl="lora_modules_to_save: [embed_tokens, lm_head]", llamafactory="additional_target: embed_tokens,lm_head",
          unsloth="train embed_tokens and lm_head, or start from the instruct model", hf="train the embeddings, or start from the instruct model"),
    entry("EOS011", "template-ends-without-stop", "FATAL", "setup", "the template writes nothing after the last answer",
          "Single-turn sets then hold no stop token at all, as with GLM-4 MoE.",
          trl="assistant_only_loss: true swaps in a training template that adds it", data="append the stop token, or use another template"),
    entry("EOS012", "foreign-stop-text", "FATAL", "row", "the stop token of another family stands in the text",
          "This tokenizer does not know it, so the model learns to write it out letter by letter.", data="remove or replace it in the data"),
)
