"""A tokenizer by its name: found, loaded as AutoTokenizer would, proven so, and kept."""
