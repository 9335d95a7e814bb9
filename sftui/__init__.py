"""sftui: see exactly what the trainer trains on, before you spend a GPU hour."""

__version__ = "0.1.0"
