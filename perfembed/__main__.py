"""`python -m perfembed`."""

from perfembed.cli.main import run

if __name__ == "__main__":
    run()
