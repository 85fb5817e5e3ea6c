"""OpenAI's Batch API: files, batches, and the work that turns a batch into jobs and back."""
