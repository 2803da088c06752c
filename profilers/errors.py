"""The exceptions of this package. A failing candidate is no exception: it is an `Outcome`."""

from profilers.contained.errors import ProfilersError


class HarnessError(ProfilersError):
    """The measuring harness was used wrongly (bad specification, foreign reference file) or failed itself."""
