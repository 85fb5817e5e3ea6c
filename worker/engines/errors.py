"""What can go wrong with an engine, as a tree.

EngineError
├── EngineStartFailed    the model could not be loaded: no question was asked
├── EngineDead           the engine can answer nothing any more: start another
├── EngineKilled         this question has killed two engines: the row's error
└── QuestionRefused      this question can't be asked, others can: the row's error
"""


class EngineError(Exception):
    """Any error of an engine; its text is one clear line."""


class EngineStartFailed(EngineError):
    """The model could not be loaded."""


class EngineDead(EngineError):
    """The engine can answer nothing any more."""


class QuestionRefused(EngineError):
    """This question can't be asked: too long for the model, or a schema it can't enforce."""


class EngineKilled(EngineError):
    """This question has killed the engine twice, the second time alone with it."""
