"""Schemas, imports and checks beside peers, each in an environment of its own; README.md says what the rows mean."""

import sys
from dataclasses import replace

from harness.comparison import US, Job, Row, measure_rows, peers_of, row_alone, row_beside
from harness.environments import versions_of
from harness.report import parse_options, report

ROWS = (
    row_beside("schema, 8 parameters, warm", "warm", "pydantic-ai", 0.2, "langchain"),
    row_beside("schema, 8 parameters, cold", "cold", "pydantic-ai", 0.7, "langchain"),
    row_beside("schema, 8 parameters, with all imports", "from nothing", "pydantic-ai", 1.0, "langchain"),
    row_beside("schema, 8 parameters, types never met", "unmet", "pydantic-ai", None, "langchain"),
    row_alone("1,000 tools", "many", 1.0),
    row_alone("1,000 tools, 1,000 models", "many models", 1.0),
    row_alone("1,000 tools, 1,000 dataclasses", "many dataclasses", None),
    Row("import", Job(US, "import"), Job(US, "import asyncio"), "import asyncio", 1.5),
    Row("import and define one tool", Job(US, "from nothing"), Job("smolagents", "import"), "import smolagents", 0.5),
    row_beside("import and define one agent", "agent", "pydantic-ai", 0.2, "langchain", "openai-agents", "strands"),
    row_beside("check a call, 8 arguments", "call", "pydantic-ai", None),
)


def main() -> int:
    options = parse_options("Measure schemas, imports and checks beside peers.", full=11, short=7, peers=True)
    rows = ROWS if options.peers else tuple(replace(row, others=()) for row in ROWS)
    return report(measure_rows(rows, options.reps), versions_of(peers_of(rows)), options.json)


if __name__ == "__main__":
    sys.exit(main())
