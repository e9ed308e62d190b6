"""Recorded data folders of earlier versions, which every later version opens, folds and finishes."""
