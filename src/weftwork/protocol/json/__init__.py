"""JSON: strict decoding, canonical form, pointers, schemas, and the schema dialect for callers."""
