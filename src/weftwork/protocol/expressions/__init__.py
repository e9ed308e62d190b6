"""CEL expressions and templates: parsing, cost limits, evaluation."""
