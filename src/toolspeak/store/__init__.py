"""Runs and conversations in one SQLite file: facts as they happen, found and read back later.

A run is the fold of its facts, so the facts are all that is stored of it (`runs.py`). The other tables serve to find
runs (`conversations.py`). Several processes may write to one file at once. `schema.py` has the tables.
"""

from toolspeak.store.conversation_lock import ConversationLock
from toolspeak.store.conversations import ConversationEntry, ConversationStore
from toolspeak.store.runs import RunLink, RunStore, StoredFact, count_shared, drop_unanswered_prompt

__all__ = [
    "ConversationEntry",
    "ConversationLock",
    "ConversationStore",
    "RunLink",
    "RunStore",
    "StoredFact",
    "count_shared",
    "drop_unanswered_prompt",
]
