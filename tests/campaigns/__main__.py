"""`python -m tests.campaigns NAME [options]`."""

from tests.campaigns.commands import app
from tests.printing import run

if __name__ == "__main__":
    run(app)
