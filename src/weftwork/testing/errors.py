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


class Diverged(Unmet):
    """The code of the nodes, or the workflow, does not do what a history has recorded.

    `sequence` is that of the first event that differs, and `node_id` its node. `recorded` and `now` describe the event.
    """

    def __init__(self, message: str, sequence: int, node_id: str | None, recorded: str, now: str) -> None:
        super().__init__(message)
        self.sequence = sequence
        self.node_id = node_id
        self.recorded = recorded
        self.now = now
