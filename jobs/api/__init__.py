"""The HTTP API of the controller's machine: jobs, and OpenAI's Batch API over them.

FastAPI is imported in here alone, and starts without Ray, torch or vLLM.
"""
