"""An invoice assistant on SQLite: it pays small invoices by itself, and asks before it pays more than 100 euros.

The rule reads the amount in the books, so that no model can make it smaller. The tools get the connection as their
deps, which the model does not see.

$ python examples/invoices.py
Pay 480 euros to Roof & Son? [y/N] n
  list_unpaid({}) → [{'number': 1, 'payee': 'Paper Mill', 'euros': 40}, …]
  pay({'number': 1}) → paid 40 euros to Paper Mill
  pay({'number': 2}) → not run: the user did not allow it: the owner said no
  pay({'number': 3}) → invoice 3 is paid already, or there is none
Invoice 1 is paid, invoice 2 was not allowed, and there was nothing to pay for invoice 3.
Still unpaid: Roof & Son
"""

import sqlite3

from toolspeak import Agent, Context, Model, ToolCall, ToolError, tool

ASK_ABOVE_EUROS = 100
INVOICES = [
    (1, "Paper Mill", 40, 0),
    (2, "Roof & Son", 480, 0),
    (3, "Water Works", 75, 1),
]

Books = sqlite3.Connection


def open_books() -> Books:
    books = sqlite3.connect(":memory:", check_same_thread=False)  # tools run in threads
    books.row_factory = sqlite3.Row
    books.execute(
        "CREATE TABLE invoices (number INTEGER PRIMARY KEY, payee TEXT, euros INTEGER, paid INTEGER)"
    )
    books.executemany("INSERT INTO invoices VALUES (?, ?, ?, ?)", INVOICES)
    return books


def find_invoice(books: Books, number: object) -> sqlite3.Row | None:
    row: sqlite3.Row | None = books.execute(
        "SELECT * FROM invoices WHERE number = ?", [number]
    ).fetchone()
    return row


def list_unpaid(context: Context[Books]) -> list[dict[str, object]]:
    """List the invoices that are not paid yet."""
    return [
        dict(row)
        for row in context.deps.execute(
            "SELECT number, payee, euros FROM invoices WHERE NOT paid"
        )
    ]


def is_large(call: ToolCall, context: Context[Books]) -> bool:
    invoice = find_invoice(context.deps, call.arguments["number"])
    return invoice is not None and invoice["euros"] > ASK_ABOVE_EUROS


@tool(approve=is_large, effect="once")
def pay(number: int, context: Context[Books]) -> str:
    """Pay an invoice.

    Args:
        number: The number of the invoice.
    """
    invoice = find_invoice(context.deps, number)
    with context.deps as books:
        changed = books.execute(
            "UPDATE invoices SET paid = 1 WHERE number = ? AND NOT paid", [number]
        ).rowcount
    if invoice is None or not changed:
        raise ToolError(
            f"invoice {number} is paid already, or there is none"
        )  # the model reads these words
    return f"paid {invoice['euros']} euros to {invoice['payee']}"


def ask(call: ToolCall, context: Context[Books]) -> bool | str:
    invoice = find_invoice(context.deps, call.arguments["number"])
    if invoice is None:  # it was there a moment ago
        return "there is no such invoice"
    answer = input(f"Pay {invoice['euros']} euros to {invoice['payee']}? [y/N] ")
    return answer.strip().lower() == "y" or "the owner said no"


def main(model: str | Model = "local") -> None:
    books = open_books()
    agent = Agent(
        model,
        [list_unpaid, pay],
        deps=books,
        approve=ask,
        system="You pay the invoices of a workshop.",
    )
    outcome = agent.run("Pay the invoices 1, 2 and 3.")
    for call in outcome.calls:
        print(f"  {call.name}({call.arguments}) → {call.error or call.output}")
    print(outcome.text)
    if (
        outcome.errors
    ):  # mistakes of this program: an invoice that cannot be paid is none
        print(f"{outcome.errors} calls failed; their tracebacks are in the log")
    print(
        "Still unpaid:",
        *(
            row["payee"]
            for row in books.execute("SELECT payee FROM invoices WHERE NOT paid")
        ),
    )
    books.close()


if __name__ == "__main__":
    main()
