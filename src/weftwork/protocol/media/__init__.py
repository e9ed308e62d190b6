"""Media: what is made, served and perceived beside text. Pure rules; the bytes are elsewhere."""
