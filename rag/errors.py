"""What can go wrong, said in one line that names the thing, the value and the next step."""


class CitewellError(Exception):
    """A fault with a message for the person who uses Citewell; the command line prints it and exits with 1."""


class ConfigError(CitewellError):
    """A setting that is unknown or has an unusable value."""


class ModelError(CitewellError):
    """A model that cannot be fetched, read, verified or run."""


class SourceError(CitewellError):
    """A source that cannot be read at all: no such path, nothing in it that is a paper."""


class IndexStateError(CitewellError):
    """A library that is missing, in use, or made by other models than the ones now set."""


class NotReadyError(CitewellError):
    """A part of a server that is still being prepared: models fetched, papers indexed, the language model loaded."""


class QuestionError(CitewellError):
    """A question that cannot be asked: empty or too long."""


class ServeError(CitewellError):
    """A page that cannot be served: the port is taken, the address unusable."""


class HistoryError(CitewellError):
    """The kept conversations cannot be read or written."""


class AccountError(CitewellError):
    """An account that cannot be made, changed or found."""
