"""Writes note.wav, half a second of humming: python -m examples.voice_note.make_note"""

import math
import wave
from pathlib import Path

RATE, SECONDS = 8_000, 0.5


def hum() -> bytes:
    return bytes(round(128 + 60 * math.sin(2 * math.pi * 220 * at / RATE)) for at in range(int(RATE * SECONDS)))


if __name__ == "__main__":
    with wave.open(str(Path(__file__).with_name("note.wav")), "wb") as note:
        note.setnchannels(1)
        note.setsampwidth(1)
        note.setframerate(RATE)
        note.writeframes(hum())
