"""The page: a local web page that shows runs: what the model was shown, what it wrote, and how that was read.

    a source of runs ──► RunDocument ──► rows ──► the browser draws those in sight
                        facts, deltas     │
                                          └──► details of a row, when it is chosen

A run can have thousands of turns and megabytes of results, so the browser never gets it whole. Start with `rows.py`: it
folds facts into an outline, a short row for each turn, call and note. `document.py` holds one run and tells those who
watch it what has changed; `details.py` has what is behind a row, `conversation.py` the answer and what a chat shows;
`library.py` has the open runs, and what a source must do. Sources: `record_files.py`, `sources.py` (log, store,
gateway), `playground.py` (runs that the page starts; `continuation.py`: where one goes on). `export.py` and
`saved_run.py` save a run, `redaction.py` removes keys before. Many runs: `catalogue.py` lists them with their figures
(`figures.py`) and searches them, `differences.py` compares two, `annotations.py` has what people say of them, and
`saved_set.py` makes suites and tests of them; `home_routes.py` has their routes, `static/home.js` their table.
`access.py` says who may use the page, `routes.py` has the routes of one run, `app.py` puts them behind the access and
serves them. `static/` is what the browser loads: HTML, CSS and ES modules, served as they are; the wheel
has them without comments (`scripts/assets.py`).

The room may import all rooms but `cli`, `gateway` and `testing`. `app.py` and `record_files.py` must not import the
dialects, the loop, pydantic or aiohttp: `toolspeak page` shows its address before those are needed.

To add

- a place whose runs are shown: a class with the members of `RunSource`, and `find_sources` in `cli/page.py`;
- what the page says of a fact: a row in `rows.py`, its look in `static/row.js` and `export.py`; what is behind it in
  `details.py` and `static/details.js`; how both look in `static/parts.css`;
- something that counts as gone wrong: `find_faults` in `rows.py`;
- a figure or a filter of the table of runs: `measure_run` in `figures.py` (raise `FIGURES_FORMAT`), its column in
  `static/run_table.js`, its filter in `static/run_filter.js`;
- a route: `routes.py`, or `further_routes` of `page_app`; a header of all answers: `HEADERS` in `access.py`;
- a form of keys that must not be exported: `TOKENS` and `SECRET_ENDINGS` in `key_forms.py`;
- something that can be edited before a run goes on: `describe_edit` and `go_on_from_edit` in `continuation.py`;
- a form in which a run is saved: `FILE_FORMS` and `_write_run` in `routes.py`, `static/save_run.js`.
"""
