"""What one turn of a live run's loop gathers for one commit."""

from weftwork.engine.append import Append
from weftwork.engine.decide import Input
from weftwork.engine.request import Request


class Work:
    """Events on their way, the inputs they follow from, and what is to be done once they are durable."""

    __slots__ = ("append", "inputs", "launches", "request", "stop")

    def __init__(self, append: Append) -> None:
        self.append = append
        self.inputs: list[Input] = []
        self.launches: list[str] = []
        self.request: Request | None = None
        self.stop = False
