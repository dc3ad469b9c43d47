"""What the benchmark scripts share. The scripts themselves are one folder up.

`environments.py` makes the virtual environments of the peers; `comparison.py` compares measurements that `measure.py`
takes inside them. `http_server.py`, `http_client.py` and `http_sides/` are the processes of `over_http.py`,
`gateway_servers.py` those of `gateway.py`. `figures.py` holds the rows of a table, `report.py` the options of a script
and what it prints and writes, `drawing.py` and `page.py` what `all.py` puts into the documentation.
"""
