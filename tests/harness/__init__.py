"""Support code that tests of several folders share."""
