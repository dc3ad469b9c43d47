"""Cassettes: the exchanges with an endpoint, recorded in a file and replayed without the endpoint.

- `exchange.py`: `Exchange`, one request with its response, and its form as a line of JSON.
- `redaction.py`: removes keys, and the bytes of attachments, from what is written.
- `canonical.py`: the form in which requests are compared, and how the difference of two is shown.
- `tape.py`: `TapeWriter` appends exchanges to a file, `TapePlayer` finds the one that answers a request.
- `folder.py`: a folder with a file for each day.
- `senders.py`: `RecordingSender` and `ReplayingSender`, in the place of the network.
- `models.py`: a model that records, and one that replays.
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
