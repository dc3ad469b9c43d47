"""Answers prompts of conversations that go on. What was read of each stays in memory, so only what is new is read.

Each conversation has a row of keys and values; the token at position p of its prompt is in column p. While some write,
others read their next prompt and then write on with them, so a long answer holds nobody up.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from answer import STOP_TOKENS
from examples import LENGTH_MULTIPLE, encode

SYSTEM_END = "<|im_end|>\n"
"""The end of the system message, at which texts can be encoded apart."""

STEPS = 8
"""After so many tokens it is seen which answers have ended."""

KEPT_SHARE = 0.75
"""If fewer rows than this share are in use, the others are taken out."""

READ_TOKENS = 16_000
"""The most tokens that are read at once."""


class HeldRows:
    """A batch with a row for each conversation: the keys and values of all rows, by layer. It is a `Player`."""

    def __init__(self, model: Any, tokenizer: Any, count: int, *, width: int, max_tokens: int) -> None:
        """Make rows for `count` conversations; a prompt with its answer has at most `width` tokens."""
        self._model, self._tokenizer = model, tokenizer
        self._width, self._max_tokens = width, max_tokens
        self._stops = set(tokenizer.convert_tokens_to_ids(list(STOP_TOKENS)))
        self._device = model.lm_head.weight.device
        config = model.config
        head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        shape = (count, config.num_key_value_heads, width, head)
        dtype = model.lm_head.weight.dtype
        # Zeros: a column that is not seen has the weight zero, and zero times NaN is NaN.
        self.keys = [torch.zeros(shape, dtype=dtype, device=self._device) for _ in range(config.num_hidden_layers)]
        self.values = [torch.zeros(shape, dtype=dtype, device=self._device) for _ in range(config.num_hidden_layers)]
        self._hidden = torch.zeros(count, config.hidden_size, dtype=dtype, device=self._device)
        self._lengths = torch.zeros(count, dtype=torch.long, device=self._device)
        self._places = list(range(count))  # the conversation of each row
        self._held: list[list[int]] = [[] for _ in range(count)]  # the tokens of each row, its answer included
        self._written: dict[int, list[int]] = {}  # the answers under way, by row
        self._systems: dict[str, list[int]] = {}

    def read(self, prompts: Mapping[int, str]) -> list[int]:
        """Read the next prompts of these conversations; return those whose prompt is too long."""
        rows = {place: row for row, place in enumerate(self._places)}
        encoded = {rows[place]: self._encode(prompt) for place, prompt in prompts.items()}
        fitting = {row: tokens for row, tokens in encoded.items() if len(tokens) + self._max_tokens < self._width}
        if not any(self._held):
            self._share_systems({rows[place]: prompt for place, prompt in prompts.items()})
        parts = {row: (self._count_known(row, tokens), tokens) for row, tokens in fitting.items()}
        batch: list[int] = []
        for row in sorted(parts, key=lambda row: len(parts[row][1]) - parts[row][0]):
            start, tokens = parts[row]
            if batch and (len(tokens) - start) * (len(batch) + 1) > READ_TOKENS:
                self._read_rows({each: parts[each] for each in batch})
                batch = []
            batch.append(row)
        if batch:
            self._read_rows({each: parts[each] for each in batch})
        for row in fitting:
            self._written[row] = []
        return [self._places[row] for row in encoded if row not in fitting]

    def write(self) -> dict[int, tuple[str, bool]]:
        """Write on until some answers have ended; return them, and whether they were cut."""
        ended: dict[int, tuple[str, bool]] = {}
        self._drop_idle()
        while not ended and self._written:
            tokens = self._write_steps()
            for row, answer in list(self._written.items()):
                for step in tokens:
                    answer.append(step[row])
                    self._held[row].append(step[row])
                    is_stopped = step[row] in self._stops
                    if is_stopped or len(answer) == self._max_tokens:
                        text = self._tokenizer.decode(answer, skip_special_tokens=True)
                        ended[self._places[row]] = (text, not is_stopped)
                        del self._written[row]
                        break
        return ended

    def _encode(self, prompt: str) -> list[int]:
        """Encode a prompt; its system message, which is long, only once."""
        system, end, rest = prompt.partition(SYSTEM_END)
        if system not in self._systems:
            self._systems[system] = encode(self._tokenizer, system + end)
        return self._systems[system] + encode(self._tokenizer, rest)

    def _share_systems(self, prompts: Mapping[int, str]) -> None:
        """Read each system message in one row, and copy what was read to the rows that begin alike."""
        alike: dict[str, list[int]] = {}
        for row, prompt in prompts.items():
            alike.setdefault(prompt.partition(SYSTEM_END)[0], []).append(row)
        for system, rows in alike.items():
            tokens = self._systems[system]
            if len(tokens) >= self._width:
                continue
            self._read_rows({rows[0]: (0, tokens)})
            for row in rows[1:]:
                self._held[row] = list(tokens)
            others = torch.tensor(rows[1:], dtype=torch.long, device=self._device)
            for cache in (*self.keys, *self.values):
                cache[others, :, : len(tokens)] = cache[rows[0], :, : len(tokens)]

    def _count_known(self, row: int, tokens: Sequence[int]) -> int:
        """Count the tokens at the beginning that the row holds already; the last one is always read."""
        known = 0
        for held, token in zip(self._held[row], tokens[:-1], strict=False):
            if held != token:
                break
            known += 1
        return known

    @torch.inference_mode()
    def _read_rows(self, parts: Mapping[int, tuple[int, list[int]]]) -> None:
        """Read tokens in rows: for each, where to begin, and all the tokens that it then holds."""
        new = [tokens[start:] for start, tokens in parts.values()]
        longest = max(map(len, new))
        rows = torch.tensor(list(parts), device=self._device)
        starts = torch.tensor([start for start, _ in parts.values()], device=self._device)
        counts = torch.tensor(list(map(len, new)), device=self._device)
        padded = torch.tensor([each + [0] * (longest - len(each)) for each in new], device=self._device)
        order = torch.arange(longest, device=self._device)
        positions = starts[:, None] + order
        # Padding is written to the last column, which nobody sees.
        columns = torch.where(order < counts[:, None], positions, self._width - 1)
        seen = self._round_up(max(len(tokens) for _, tokens in parts.values()))
        hidden = self._run(padded, positions, seen, _View(self, rows, columns, seen))
        self._hidden[rows] = hidden[torch.arange(len(new), device=self._device), counts - 1]
        self._lengths[rows] = starts + counts
        for row, (_, tokens) in parts.items():
            self._held[row] = list(tokens)

    @torch.inference_mode()
    def _write_steps(self) -> list[list[int]]:
        """Write some tokens in all rows, the idle ones too; return the tokens of each step."""
        seen = self._round_up(max(len(self._held[row]) for row in self._written) + STEPS)
        steps: list[torch.Tensor] = []
        for _ in range(STEPS):
            following = self._model.lm_head(self._hidden).argmax(-1)
            steps.append(following)
            columns = self._lengths.clamp(max=self._width - 1)[:, None]
            hidden = self._run(following[:, None], columns, seen, _View(self, None, columns, seen))
            self._hidden = hidden[:, 0]
            self._lengths += 1
        return torch.stack(steps).tolist()

    def _run(self, tokens: torch.Tensor, positions: torch.Tensor, seen: int, view: "_View") -> torch.Tensor:
        mask = torch.arange(seen, device=self._device) <= positions[:, :, None]
        output = self._model.model(
            input_ids=tokens,
            attention_mask={"full_attention": mask[:, None]},
            position_ids=positions,
            past_key_values=view,
            use_cache=True,
        )
        return output.last_hidden_state

    def _round_up(self, length: int) -> int:
        return min(-(-length // LENGTH_MULTIPLE) * LENGTH_MULTIPLE, self._width)

    def _drop_idle(self) -> None:
        """Take the rows of conversations that have ended out of the batch, if they are many."""
        if len(self._written) >= KEPT_SHARE * len(self._places):
            return
        kept = sorted(self._written)
        chosen = torch.tensor(kept, dtype=torch.long, device=self._device)
        for caches in (self.keys, self.values):
            for layer, cache in enumerate(caches):
                caches[layer] = cache[chosen]
        self._hidden, self._lengths = self._hidden[chosen], self._lengths[chosen]
        self._places = [self._places[row] for row in kept]
        self._held = [self._held[row] for row in kept]
        self._written = {new: self._written[row] for new, row in enumerate(kept)}


class _View:
    """The keys and values of some rows, in the place of a cache of transformers; of all rows if `rows` is None."""

    def __init__(self, batch: HeldRows, rows: torch.Tensor | None, columns: torch.Tensor, seen: int) -> None:
        self._batch, self._rows, self._columns, self._seen = batch, rows, columns, seen

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keep the keys and values of new tokens; return those of all tokens."""
        rows = torch.arange(len(keys), device=keys.device) if self._rows is None else self._rows
        found: list[torch.Tensor] = []
        for cache, new in ((self._batch.keys[layer], keys), (self._batch.values[layer], values)):
            cache[rows[:, None], :, self._columns] = new.transpose(1, 2)
            found.append(cache[:, :, : self._seen] if self._rows is None else cache[rows, :, : self._seen])
        return found[0], found[1]

    def get_seq_length(self, layer: int = 0) -> int:
        return self._seen
