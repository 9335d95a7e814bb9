"""`python -m sftui` is `sftui`."""

from sftui.cli import main

if __name__ == "__main__":
    main()
