"""An upload's form, read as it comes in: the file goes on to the bucket, fields stay here.

Starlette's own form parser would put the whole file onto this machine's disk first.
"""

from dataclasses import dataclass, field
from email.message import Message
from typing import TYPE_CHECKING

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser

from jobs.api.problem import ApiError
from jobs.store.streams import PartWriter

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

LONGEST_FIELD = 4096
MOST_PARTS = 16
FILE = "file"


@dataclass(slots=True)
class Upload:
    """Feed it the body with `write`; then `fields` and `filename` tell what there was."""

    writer: PartWriter
    most: int
    fields: dict[str, str] = field(default_factory=dict)
    filename: str | None = None
    ended: bool = False
    _parser: MultipartParser | None = None
    _name: str = ""
    _parts: int = 0
    _value: bytearray = field(default_factory=bytearray)
    _header: tuple[bytearray, bytearray] = field(default_factory=lambda: (bytearray(), bytearray()))
    _ours: bool = False

    def begin(self, content_type: str) -> None:
        """`ApiError` when the body is no form."""
        told = Message()
        told["Content-Type"] = content_type
        boundary = told.get_param("boundary")
        if told.get_content_type() != "multipart/form-data" or not isinstance(boundary, str):
            raise ApiError(400, "Content-Type: allowed: multipart/form-data with a boundary.")
        callbacks: MultipartCallbacks = {
            "on_part_begin": self._on_part,
            "on_header_field": lambda data, start, end: self._header[0].extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._header[1].extend(data[start:end]),
            "on_header_end": self._on_header,
            "on_part_data": self._on_data,
            "on_part_end": self._on_part_end,
            "on_end": self._on_end,
        }
        try:
            self._parser = MultipartParser(boundary.encode("latin-1"), callbacks)
        except (ValueError, UnicodeEncodeError) as error:
            raise ApiError(400, f"Content-Type: {error}") from error

    def write(self, data: bytes) -> None:
        """`ApiError` when the form is broken or the file too large."""
        assert self._parser is not None, "write() follows begin()"
        try:
            self._parser.write(data)
        except MultipartParseError as error:
            raise ApiError(400, f"The form is broken: {error}") from error

    def _on_part(self) -> None:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise ApiError(400, f"The form has more than {MOST_PARTS} parts.")
        self._name, self._ours = "", False
        self._value.clear()

    def _on_header(self) -> None:
        name, value = (bytes(each).decode("utf-8", "replace") for each in self._header)
        for each in self._header:
            each.clear()
        if name.lower() != "content-disposition":
            return
        told = Message()
        told["Content-Disposition"] = value.replace("\r", " ").replace("\n", " ")
        self._name = str(told.get_param("name", "", "content-disposition"))
        if self._name == FILE:
            if self.filename is not None:
                raise ApiError(400, "The form has two files.", FILE)
            self._ours, self.filename = True, told.get_filename() or "upload.jsonl"

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._ours:
            if self.writer.size + end - start > self.most:
                raise ApiError(413, f"The file is larger than {self.most} bytes.", FILE)
            self.writer.write(data[start:end])
        elif len(self._value) + end - start > LONGEST_FIELD:
            raise ApiError(400, f"A field of more than {LONGEST_FIELD} bytes.", self._name or None)
        else:
            self._value += data[start:end]

    def _on_part_end(self) -> None:
        if not self._ours and self._name:
            self.fields[self._name] = self._value.decode("utf-8", "replace")

    def _on_end(self) -> None:
        self.ended = True
