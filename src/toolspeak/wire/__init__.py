"""How APIs lay things out on the wire, in both directions: as a client of theirs, and as a server of the same kind.

`openai_chat` and `anthropic_messages` have the same names, so that whoever holds one need not know which: on the client
side `PATH`, `VENDOR`, `tool_definitions`, `request_body`, `Decoder`, `read_response` and `read_error`; on the server
side `read_request`, `Encoder` and `error_body`. Nothing here does I/O or looks at a clock: bytes and JSON go in, nouns
come out, and the other way round.
"""
