"""A model server for tests: OpenAI's wire on loopback, in the forms of several servers, with faults on demand."""

from weftwork.testing.model_server import faults
from weftwork.testing.model_server.replies import DIALECTS, ModelReply, ToolCall
from weftwork.testing.model_server.response import Fault, ServedRequest, WireResponse
from weftwork.testing.model_server.server import ModelServer

__all__ = ["DIALECTS", "Fault", "ModelReply", "ModelServer", "ServedRequest", "ToolCall", "WireResponse", "faults"]
