"""What one turn of a live run's loop gathers for one commit."""

from weftwork.engine.append import Append
from weftwork.engine.decision import Decision
from weftwork.engine.inputs import Input
from weftwork.engine.request import Request


class Work:
    """Events on their way, the inputs they follow from, and what is to be done once they are durable."""

    __slots__ = ("append", "began", "cut", "inputs", "interrupt", "launches", "request", "stop")

    def __init__(self, append: Append, began: int) -> None:
        self.append = append
        self.began = began
        self.inputs: list[Input] = []
        self.launches: list[str] = []
        self.request: Request | None = None
        self.stop = False
        self.interrupt = False
        self.cut = False
        """There is more to do: the batch was full, or took long."""

    def note(self, given: Input, decision: Decision) -> None:
        """Remember what a decision asks for. Whoever asked for something that is refused is told now."""
        self.stop = self.stop or decision.stop
        self.interrupt = self.interrupt or decision.interrupt
        if decision.interrupt:
            self.launches.clear()
        if decision.refusal is not None and self.request is not None and self.request.given is given:
            self.request.refuse(decision.refusal)
            self.request = None

    def asks(self, kind: type[Input]) -> bool:
        """Whether somebody waits for what follows from an input of this kind."""
        return self.request is not None and isinstance(self.request.given, kind)
