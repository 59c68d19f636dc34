"""``python -m steinwise``."""

from steinwise.cli import main

if __name__ == "__main__":
    main()
