"""The rules of the house: layers, purity, names, sizes, exports."""
