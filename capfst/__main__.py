"""`python -m capfst`: the command line."""

from capfst.cli import main

if __name__ == "__main__":
    main()
