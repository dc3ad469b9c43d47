"""The page: a local web page that shows runs: what the model was shown, what it wrote, and how that was read.

    a source of runs ──► RunDocument ──► rows ──► the browser draws those in sight
     (`sources/`)       facts, deltas     │
                                          └──► details of a row, when it is unfolded

A run can have thousands of turns and megabytes of results, so the browser never gets it whole. `rows.py` folds facts
into an outline, a short row for each turn, call and note. The text behind a row is sent when somebody unfolds the row
(`details.py`), as is what the model was shown (`shown_request.py`). `document.py` holds one run and tells those who
watch it what has changed; `live.py` sends that as server-sent events.

`app.py` has the routes, `access.py` says who may use them, and `static/` is what the browser loads: HTML, CSS and ES
modules, written here and served as they are.
"""
