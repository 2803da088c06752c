"""The exceptions of this package. A failing candidate is no exception: it is an `Outcome`."""


class ProfilersError(Exception):
    """Base of everything this package raises on purpose."""


class CompilerMissing(ProfilersError):
    """No usable C compiler of that name was found."""


class ContainmentError(ProfilersError):
    """The supervisor of a contained child could not be built, started or understood."""


class FileSizeLimited(ProfilersError):
    """A file that had to be written would be larger than the user's own limit (`ulimit -f`) allows."""


class NotExecutable(ProfilersError):
    """The program to run does not exist or may not be executed."""


class HarnessError(ProfilersError):
    """The measuring harness was used wrongly (bad specification, foreign reference file) or failed itself."""
