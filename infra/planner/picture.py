"""One picture as a model sees it: what every rule of `image_tokens` answers with."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ImageTokens:
    """A picture after the processor, under the right names.

    patches        patches that the vision encoder works on, over all tiles
    tokens         what the language decoder sees of them, without the rule's wrapper tokens
    model_width, model_height   pixels of the picture after its resize; of an overview as well, no
    tiles          pictures of the encoder's own size, an overview included; 1: not cut up
    in_prompt      False: the tokens are cross-attention states and take no place in the prompt
    """

    patches: int
    tokens: int
    model_width: int
    model_height: int
    tiles: int = 1
    in_prompt: bool = True
