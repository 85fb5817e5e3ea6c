"""The report: one HTML page beside a job's results, to look at its pictures, answers and bill.

    facets     what of an answer can be filtered by, from its schema; the boxes in an answer
    entries    rows as the page carries them, the most interesting ones when there are too many
    pictures   small pictures of the rows, in the page or in chunks beside it
    charts     SVG for phases, bill and throughput
    summary    figures of the receipt, in words for people
    page       all of it in one file that opens from disk, with a strict policy for its content
    write      the flow: rows in, files out
    closing    the same for a job that closes, under its claim

Nothing here decodes a picture: the worker keeps small ones (`jobs.thumbs`). The page is written
when the job closes, with the bill so far; `finish_report` puts the final bill into it.
"""
