"""The policy that makes scale-to-zero the cheapest choice: how long an idle cluster waits, how long
a small job does, and which of several ways to run a job is taken.

Pure but for reading traces and, in `clock`, the bucket. Nothing here starts or ends anything.
"""
