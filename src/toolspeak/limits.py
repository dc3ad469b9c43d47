"""The limits of a run."""

from toolspeak._frozen import frozen


@frozen
class Limits:
    """The limits of a run. `None` is no limit.

    Attributes:
        turns: Messages of the model.
        calls: Calls that are run.
        tokens: Input and output tokens of all turns, those of inner runs included. Where the endpoint counts none,
            only the output is estimated.
        seconds: Seconds from the start of the run, or from the moment it is resumed. The time that the `system` and
            `choose_tools` functions of the agent take is counted.
        repeats: The model is warned when the same call has had the same result this often; once more ends the run.
        concurrent: Calls that run at the same time; further calls wait.
        cost: US dollars for the tokens of all turns. The price of every model of the agent must be known.
        depth: How deeply agents that are tools may be nested below the run: 1 lets its tools be agents, 2 lets those
            have such tools too.
        context: Tokens of one request and its answer. A longer conversation is compacted (`Compacted`) before the
            model is asked. A model that runs on this machine has this limit by itself.
    """

    turns: int | None = 10
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    repeats: int | None = 3
    concurrent: int = 8
    cost: float | None = None
    depth: int | None = 3
    context: int | None = None
