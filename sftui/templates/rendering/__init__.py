"""Chat templates as transformers runs them, and whose text each character is."""
