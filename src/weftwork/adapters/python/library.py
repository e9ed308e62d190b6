"""All nodes of a host that are written in Python, with what they share."""

import asyncio
from collections.abc import Iterable

from weftwork.adapters.python.declare import NodeFunction
from weftwork.adapters.python.entry import Tools
from weftwork.adapters.python.loopwatch import LoopWatch
from weftwork.adapters.python.performing import waiting_node
from weftwork.adapters.python.spawned import guard_tasks
from weftwork.adapters.python.threads import Threads
from weftwork.ports.nodes import NodeType
from weftwork.ports.outbound import Outbound


class Library:
    """The node types of decorated functions. Their threads are there when needed; the loop is watched once started."""

    def __init__(self, nodes: Iterable[NodeFunction], threads: Threads, outbound: Outbound | None) -> None:
        self.nodes = [*nodes]
        self.threads = threads
        tools = Tools(threads, outbound)
        self.types: dict[str, NodeType] = {node.declaration.type_id: waiting_node(node, tools) for node in self.nodes}
        self._watch = LoopWatch(self.nodes)

    def start(self) -> None:
        """Watch the loop that runs now, if any node could block it, and keep their tasks from ending it."""
        if self.nodes:
            guard_tasks(asyncio.get_running_loop())
            self._watch.start()

    def stop(self) -> None:
        """Let go of everything, and wait for nothing."""
        self._watch.stop()
        self.threads.close()
