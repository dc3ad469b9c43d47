"""Cassettes: the exchanges with an endpoint, recorded in a file and replayed without the endpoint.

- `exchange.py`: `Exchange`, one request with its response, and its form as a line of JSON; the canonical form in which
  requests are compared. A field, an id or a date that differs from run to run goes there.
- `redaction.py`: removes keys, and the bytes of attachments, from what is written. Where a key may hide in a recording
  goes there, and into `KEY_PLACES` of the tests first.
- `tape.py`: `TapeWriter` appends exchanges to a file, or to a folder with a file for each day (`FolderWriter`);
  `TapePlayer` finds the one that answers a request.
- `senders.py`: senders in the place of the network, and the models that use them.

A cassette is a `Sender`, so retries and errors are replayed by the code that had them.
"""

from toolspeak.models.cassettes.exchange import Exchange
from toolspeak.models.cassettes.senders import record_model, replay_model, replay_named_model
from toolspeak.models.cassettes.tape import (
    CassetteNotWritten,
    FolderWriter,
    TapePlayer,
    TapeWriter,
    load_folder,
    load_tape,
)

__all__ = [
    "CassetteNotWritten",
    "Exchange",
    "FolderWriter",
    "TapePlayer",
    "TapeWriter",
    "load_folder",
    "load_tape",
    "record_model",
    "replay_model",
    "replay_named_model",
]
