"""Photos in memory: from the bytes of a file, and back."""

import io

from PIL import Image, ImageOps

import weftwork

MAX_PIXELS = 20_000_000
"""The header of a file says how many pixels it has, so a larger photo is refused before it is decoded."""


def open_photo(data: bytes) -> Image.Image:
    """The photo, turned upright. Raises NodeError for a file that is too large or cannot be read."""
    try:
        image = Image.open(io.BytesIO(data))
        if image.width * image.height > MAX_PIXELS:
            raise weftwork.NodeError("photo_unusable", f"The photo has more than {MAX_PIXELS:,} pixels.")
        return ImageOps.exif_transpose(image).convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        raise weftwork.NodeError("photo_unusable", "The file is damaged, or is not an image.") from None


def to_jpeg(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "JPEG", quality=85)
    return file.getvalue()
