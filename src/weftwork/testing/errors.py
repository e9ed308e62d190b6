"""What a test meant and did not get. All are assertion errors: a test that meets one fails."""


class Unmet(AssertionError):
    """A run under test did not go as the test set it up."""


class Unending(Unmet):
    """The run does not end: nothing can happen any more, or too much did."""


class Unreached(Unmet):
    """A fault was asked for at a place that the run never came to."""


class Refused(Unmet):
    """The host would refuse the workflow, the inputs or the answer."""


class UnexpectedRequest(Unmet):
    """A node sent a request that the test has no answer for."""
