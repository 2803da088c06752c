"""The exceptions of this package, rooted in one base class."""


class SchedulerError(Exception):
    """Base of every error the loop-nest compiler raises."""


class TextError(SchedulerError):
    """Stored text (of a nest, a schedule, an affine expression) that does not parse."""


class NotApplicable(SchedulerError):
    """A transformation whose own preconditions do not hold on the nest it was asked for."""


class CodegenUnsupported(SchedulerError):
    """A legal schedule the code generator cannot express."""
