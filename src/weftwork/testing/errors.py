"""Errors of the test kit. They are assertion errors, so a test that raises one fails instead of erroring."""


class Unmet(AssertionError):
    """The run did not match the setup of the test."""


class Unending(Unmet):
    """The run did not end: it is stuck, or it exceeded a limit of time or steps."""


class Unreached(Unmet):
    """The run ended without reaching the commit of a requested fault."""


class Refused(Unmet):
    """A host would refuse the workflow, the inputs or the answer."""


class UnexpectedRequest(Unmet):
    """A node sent a request that the test has no response for."""
