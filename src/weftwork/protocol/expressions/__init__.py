"""CEL expressions and templates: parsing, cost bounds, evaluation."""
