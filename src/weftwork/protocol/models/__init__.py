"""Model requests and answers: prompts, model selection, mock providers of test keys."""
