"""Proves that processing a text takes linear time: a scan of the source, tables of inputs, measurements."""
