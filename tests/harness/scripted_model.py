"""A model for the bench: says what the test says, piece by piece, and outlives every process."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from weftwork.ports.models import AnswerEnd, Delta, GeneratedMedia, ModelRequest, ProviderFault
from weftwork.protocol.media.message_parts import Modality
from weftwork.protocol.models.answers import TokenUsage

AnswerPiece = str | GeneratedMedia | AnswerEnd | ProviderFault | asyncio.Event


class ScriptedModel:
    """Each call says the next of `answers`: one text, or pieces, among which it may wait, fail or stop."""

    name = "test"
    default_model = "test-1"
    names = ("test",)
    input_modalities: frozenset[Modality] = frozenset()

    def __init__(self, *answers: str | Sequence[AnswerPiece]) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []
        self.closed = 0

    def modalities(self, model: str) -> frozenset[Modality]:
        return self.input_modalities

    def find(self, request: ModelRequest) -> "ScriptedModel":
        return self

    async def generate(self, request: ModelRequest) -> AsyncGenerator[Delta | GeneratedMedia | AnswerEnd, None]:
        said = self.answers[len(self.requests)]
        self.requests.append(request)
        pieces: Sequence[AnswerPiece] = [said] if isinstance(said, str) else said
        texts = [at for at, piece in enumerate(pieces) if isinstance(piece, str)]
        try:
            for at, piece in enumerate(pieces):
                if isinstance(piece, str):
                    yield Delta(piece, at == texts[-1])
                elif isinstance(piece, GeneratedMedia):
                    yield piece
                elif isinstance(piece, AnswerEnd):
                    yield piece
                    return
                elif isinstance(piece, ProviderFault):
                    raise piece
                else:
                    await piece.wait()
            yield AnswerEnd("stop", TokenUsage(3, len(texts)))
        finally:
            self.closed += 1
