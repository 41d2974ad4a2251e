"""What a damaged zip file makes of Python's ``zipfile``, which promises less than it raises."""

from __future__ import annotations

import lzma
import zipfile
import zlib

DAMAGE = (
    zipfile.BadZipFile,  # its structure: headers, lengths, checksums
    zlib.error,  # deflated data
    lzma.LZMAError,  # LZMA's data
    EOFError,  # data that end too early
    RuntimeError,  # a password is wanted; NotImplementedError: a compression or a version it does not know
    ValueError,  # a place before the file's begin; UnicodeDecodeError: a name
)
"""What opening, listing and reading a damaged zip file raises. Damaged bzip2 data raises OSError, as the disk does:
only who reads from memory can tell the two apart."""
