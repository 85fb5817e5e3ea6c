"""What jobs cost: entries of the ledger, attribution of node time, bills, receipts, verification.

`entry` is the noun, `ledger` reads and writes it, `attribution` makes it from node times, `receipt`
tells a job's owner, `verify` computes everything again. No import happens here: the worker takes
`money` alone, and knows no price.
"""
