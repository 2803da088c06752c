"""What is raised where a process cannot be contained, and the base of all that this package raises."""


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
