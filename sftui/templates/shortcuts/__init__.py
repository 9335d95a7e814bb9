"""Rows put together from the shapes of others, as their template writes them."""
