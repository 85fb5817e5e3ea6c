"""Product metadata, with the fields of the Shopify catalogue task of MLPerf Inference's VLM
benchmark: category (levels joined by " > "), brand, is_secondhand.

An index may give each picture a `title`, a `description` and `categories` to choose from; to use
them, write them into the prompt of the task in braces.
"""

from jobs.tasks.task import Task, of_object, text


def catalogue() -> Task:
    return Task(
        name="catalogue",
        prompt=(
            "Look at this product. Answer in JSON with category, the complete path of its product "
            'category with levels separated by " > "; brand, "unknown" when it can\'t be told; and '
            "is_secondhand, whether it has been used before."
        ),
        schema=of_object(
            category={**text(200), "minLength": 1},
            brand={**text(80), "minLength": 1},
            is_secondhand={"type": "boolean"},
        ),
        checks=("filled",),
    )
