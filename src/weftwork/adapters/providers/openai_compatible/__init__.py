"""The provider for servers with OpenAI's chat completions API."""
