"""Engines that do the work of a command on many machines: they divide the data, and join what is made of its parts.

The local engine is `session.checking` and `session.encoding`; what an engine makes of the same data is equal to theirs.
"""
