"""The socket that the serving commands listen on."""

import socket

from toolspeak.cli.http_server import listen


def test_a_connection_sends_a_short_answer_without_waiting_for_the_client() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
