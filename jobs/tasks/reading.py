"""What is written on a picture: blocks of text with their boxes, or the page as Markdown."""

from jobs.tasks.task import BOX, Task, list_of, of_object, text

LONGEST_BLOCK, MOST_BLOCKS, LONGEST_PAGE = 500, 100, 8000


def ocr(style: str = "blocks") -> Task:
    """`blocks`: text and box of each, in reading order; `markdown`: the whole page as one text."""
    if style == "markdown":
        return Task(
            name="ocr",
            prompt=(
                "Transcribe everything that is written on this picture, in reading order, as "
                "Markdown: headings, lists and tables as such. Add nothing. Answer in JSON with "
                "the key markdown; it is empty when nothing is written."
            ),
            schema=of_object(markdown=text(LONGEST_PAGE)),
        )
    block = of_object(text={**text(LONGEST_BLOCK), "minLength": 1}, bbox=BOX)
    return Task(
        name="ocr",
        prompt=(
            "Transcribe every block of text on this picture, in reading order. Answer in JSON "
            "with the key blocks, a list of objects with text and its bbox [x1, y1, x2, y2]; the "
            "list is empty when nothing is written."
        ),
        schema=of_object(blocks=list_of(block, MOST_BLOCKS)),
        box_field="bbox",
    )
