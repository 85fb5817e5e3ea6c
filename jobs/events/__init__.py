"""Doors for what arrives: events of a queue or a webhook, and plain listings; batches become jobs.

```
messages.py     what a queue's message or a webhook's body says: pure
webhook.py      whether a request may come in, and what it says: pure
rules.py        which rule a key comes under: pure
batches.py      what of a folder is new, and whether it is closed: pure
memory.py       what was taken of each folder, in the bucket, by compare-and-swap
manifests.py    a batch as a request
folders.py      a folder, as it is now, becomes a job when it is due
hints.py        where events point, each folder once; together.py lets requests share a look
queue.py        SQS, as few requests; consumer.py acts on its messages
listings.py     what lies under the prefixes, whatever events say
troubles.py     what fails waits, and holds up nothing else
doors.py        all of them, as the controller calls them
```

An event is a hint where to look and never more: what is taken is what the bucket lists. So events
may come twice, late, in any order, forged or not at all.
"""
