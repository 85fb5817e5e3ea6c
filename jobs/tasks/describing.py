"""A picture in words: a caption, or answers to questions that the index has for each picture."""

from jobs.tasks.task import Task, of_object, text


def caption() -> Task:
    return Task(
        name="caption",
        prompt=(
            "Describe this picture in one or two plain sentences: what is there, where, and what "
            "is happening. Answer in JSON with the key caption."
        ),
        schema=of_object(caption={**text(600), "minLength": 1}),
        checks=("filled",),
    )


def vqa() -> Task:
    """One row a question: the index has `question`, or a list `questions`, for each picture."""
    return Task(
        name="vqa",
        prompt=(
            "{question}\nAnswer from this picture alone, in JSON with the keys answer, short and "
            "without repeating the question, and answerable, false when the picture does not "
            "tell."
        ),
        schema=of_object(answer={**text(300), "minLength": 1}, answerable={"type": "boolean"}),
        checks=("filled",),
    )
