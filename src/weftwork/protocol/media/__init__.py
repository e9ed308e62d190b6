"""Media: types, asset references, response headers, and media parts of messages. Pure rules; other rings read bytes."""
