"""The commands, a file a subject: each a function that is declared with its key, title, help and availability."""
