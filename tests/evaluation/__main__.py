"""`python -m tests.evaluation NAME [options]`."""

from tests.evaluation.commands import app
from tests.printing import run

if __name__ == "__main__":
    run(app)
