"""Worlds of an office: a drive with folders, and a help desk."""

import random
from typing import Any, ClassVar, Literal

from worlds.engine import PEOPLE, TEXTS, Skip, Talk, World, WorldError, find, step

TITLES = "plan|minutes|budget|guest list|packing list|ideas|report|timetable|price list|draft".split("|")


class Drive(World):
    name = "drive"
    is_helper = True
    aliases: ClassVar[dict[str, str]] = {  # as in a terminal, where models like to give paths
        "show_folder": "list_dir", "enter_folder": "change_dir", "leave_folder": "parent_dir",
        "make_folder": "make_dir", "write_document": "write_text", "add_line": "append_text", "search_text": "scan",
        "read_document": "print_file", "rename_document": "rename_file", "duplicate_document": "copy_file",
        "relocate_document": "move_file", "bin_document": "trash_file", "order_lines": "sort_file",
    }  # fmt: skip

    def __init__(self, rng: random.Random) -> None:
        names = rng.sample(["Projects", "Finance", "Travel", "Recipes", "Club", "School", "Garden", "Archive"], 4)
        self.folders: dict[str, dict[str, str]] = {"/": {}} | {f"/{name}": {} for name in names}
        self.folders[f"/{names[0]}/{rng.choice(['2025', '2026', 'old', 'shared'])}"] = {}
        for path in list(self.folders):
            for title in rng.sample(TITLES, rng.randint(1, 3) if path != "/" else 0):
                name = f"{title.replace(' ', rng.choice(['-', '_']))}.{rng.choice(['txt', 'md'])}"
                self.folders[path][name] = "\n".join(rng.sample(TEXTS, rng.randint(1, 4)))
        self.open = "/"
        self.bin: dict[str, list[str]] = {}

    def _doc(self, name: str) -> str:
        if name not in self.folders[self.open]:
            raise WorldError(f"There is no document '{name}' in {self.open}")
        return self.folders[self.open][name]

    def show_folder(self) -> dict[str, Any]:
        """Show the folder that is open, with its folders and documents."""
        start = self.open.rstrip("/") + "/"
        inner = [path[len(start) :] for path in self.folders if path.startswith(start) and path != "/"]
        return {
            "open": self.open,
            "folders": [each for each in inner if "/" not in each],
            "documents": [*self.folders[self.open]],
        }

    def enter_folder(self, name: str) -> dict[str, Any]:
        """Open a folder that lies in the open one. | name: The name of the folder, not a path."""
        path = f"{self.open.rstrip('/')}/{name}"
        if "/" in name or path not in self.folders:
            raise WorldError(f"No folder '{name}' in {self.open}")
        self.open = path
        return {"open": path}

    def leave_folder(self) -> dict[str, Any]:
        """Go back to the folder above the open one."""
        if self.open == "/":
            raise WorldError("The top folder is open already")
        self.open = self.open.rpartition("/")[0] or "/"
        return {"open": self.open}

    def make_folder(self, name: str) -> dict[str, Any]:
        """Make a new folder in the open one. | name: The name of the new folder."""
        path = f"{self.open.rstrip('/')}/{name}"
        if path in self.folders:
            raise WorldError(f"'{path}' exists already")
        self.folders[path] = {}
        return {"made": path}

    def write_document(self, name: str, text: str) -> dict[str, Any]:
        """Write a document in the open folder; what it had before is replaced. | name: The name of the document, with
        its ending. | text: The whole text."""
        self.folders[self.open][name] = text
        return {"document": name, "characters": len(text)}

    def add_line(self, name: str, line: str) -> dict[str, Any]:
        """Add a line at the end of a document. | name: The name of a document in the open folder. | line: The line."""
        self.folders[self.open][name] = f"{self._doc(name)}\n{line}"
        return {"document": name, "lines": len(self.folders[self.open][name].splitlines())}

    def read_document(self, name: str) -> str:
        """Read a document of the open folder. | name: The name of the document."""
        return self._doc(name)

    def locate_document(self, part: str) -> list[str]:
        """Find documents on the whole drive by a part of their names; returns their paths. | part: A part of the
        name."""
        return [
            f"{path.rstrip('/')}/{name}"
            for path, docs in self.folders.items()
            for name in docs
            if part.lower() in name.lower()
        ]

    def search_text(self, term: str) -> list[dict[str, str]]:
        """Find the lines that contain a term, in all documents of the open folder. | term: The word or words to look
        for."""
        docs = self.folders[self.open].items()
        return [
            {"document": name, "line": line}
            for name, text in docs
            for line in text.splitlines()
            if term.lower() in line.lower()
        ]

    def rename_document(self, name: str, new_name: str) -> dict[str, Any]:
        """Give a document of the open folder another name. | name: Its present name. | new_name: The new name."""
        text = self._doc(name)
        if new_name in self.folders[self.open]:
            raise WorldError(f"'{new_name}' exists already")
        del self.folders[self.open][name]
        self.folders[self.open][new_name] = text
        return {"renamed": name, "to": new_name}

    def duplicate_document(self, name: str, copy_name: str) -> dict[str, Any]:
        """Copy a document within the open folder. | name: The document to copy. | copy_name: The name of the copy."""
        self.folders[self.open][copy_name] = self._doc(name)
        return {"copied": name, "to": copy_name}

    def relocate_document(self, name: str, folder: str) -> dict[str, Any]:
        """Move a document from the open folder to another one. | name: The document. | folder: The whole path of the
        other folder, such as /Projects/old."""
        text = self._doc(name)
        if folder not in self.folders:
            raise WorldError(f"No folder {folder}")
        del self.folders[self.open][name]
        self.folders[folder][name] = text
        return {"moved": name, "to": folder}

    def bin_document(self, name: str) -> dict[str, Any]:
        """Put a document of the open folder into the bin. | name: The document."""
        self.bin[name] = [self.open, self._doc(name)]
        del self.folders[self.open][name]
        return {"binned": name}

    def restore_document(self, name: str) -> dict[str, Any]:
        """Take a document out of the bin, back to its folder. | name: The document."""
        if name not in self.bin:
            raise WorldError(f"'{name}' is not in the bin")
        path, text = self.bin.pop(name)
        self.folders[path][name] = text
        return {"restored": f"{path.rstrip('/')}/{name}"}

    def measure_document(self, name: str, unit: Literal["lines", "words", "characters"] = "words") -> dict[str, Any]:
        """Count the lines, words or characters of a document. | name: A document of the open folder. | unit: What is
        counted."""
        text = self._doc(name)
        return {
            "document": name,
            unit: {"lines": len(text.splitlines()), "words": len(text.split()), "characters": len(text)}[unit],
        }

    def order_lines(self, name: str) -> str:
        """Sort the lines of a document by the alphabet, in place; returns the new text. | name: A document of the open
        folder."""
        self.folders[self.open][name] = "\n".join(sorted(self._doc(name).splitlines()))
        return self.folders[self.open][name]

    def last_lines(self, name: str, count: int = 5) -> list[str]:
        """Return the last lines of a document. | name: A document of the open folder. | count: How many lines."""
        return self._doc(name).splitlines()[-count:]


def _go(t: Talk, w: Drive, do: Any, path: str) -> None:
    """Open a folder, from wherever one is."""
    while not f"{path}/".startswith(w.open.rstrip("/") + "/"):
        do.leave_folder()
    for name in filter(None, path[len(w.open.rstrip("/")) + 1 :].split("/")):
        do.enter_folder(name=name)


def _doc_here(t: Talk, w: Drive) -> str:
    """Draw a document of the open folder that was named before."""
    return t.pick([name for name in w.folders[w.open] if t.knows(name)])


@step(Drive)
def look_into_folder(t: Talk, w: Drive, do: Any) -> None:
    path = t.pick([each for each in w.folders if each.count("/") == 1 and each not in ("/", w.open)])
    t.user("ask", name=path[1:])
    with t.together():
        _go(t, w, do, path)
        found = do.show_folder()
    t.memory["listed"] = found["documents"]
    docs, inner = ", ".join(found["documents"]) or "–", ", ".join(found["folders"])
    more = f" ({inner}/)" if inner else ""
    t.say("tell", name=path[1:], docs=docs, more=more)


@step(Drive)
def start_document(t: Talk, w: Drive, do: Any) -> None:
    path = t.pick([each for each in w.folders if each.count("/") == 1 and each != "/"])
    name, text = f"{t.pick(TITLES).replace(' ', '_')}_{t.pick(['may', 'june', 'new', 'v2', 'team'])}.txt", t.pick(TEXTS)
    t.user("ask", folder=path[1:], name=name, text=text)
    with t.together():
        _go(t, w, do, path)
        do.write_document(name=name, text=text)
    t.memory["doc"] = name
    t.say("tell", name=name, folder=path[1:])


@step(Drive)
def find_and_read(t: Talk, w: Drive, do: Any) -> None:
    path, name = t.pick([(p, n) for p, docs in w.folders.items() for n in docs])
    part = name.partition(".")[0]
    found = [f"{p.rstrip('/')}/{n}" for p, docs in w.folders.items() for n in docs if part.lower() in n.lower()]
    if len(found) != 1:
        raise Skip
    t.user("ask", part=part)
    do.locate_document(part=part)
    with t.together():
        _go(t, w, do, path)
        text = do.read_document(name=name)
    t.memory.update(doc=name, text=text)
    t.say("tell", path=path, text=text)


@step(Drive)
def read_listed(t: Talk, w: Drive, do: Any) -> None:
    listed = t.recent("listed", [])
    if len(listed) < 2 or listed != [*w.folders[w.open]]:
        raise Skip
    place = t.pick([0, 1, -1])
    word = {0: "first", 1: "second", -1: "last"}[place]
    t.user("ask", word=word)
    text = do.read_document(name=listed[place])
    t.memory["doc"] = listed[place]
    t.say("tell", name=listed[place], text=text)


@step(Drive)
def add_to_document(t: Talk, w: Drive, do: Any) -> None:
    name, line = _doc_here(t, w), t.pick(TEXTS)
    said = "it" if t.recent("doc") == name and t.turns and name in str(t.turns[-1]) else name
    t.user("ask", said=said, line=line)
    wants_text = "show me" in t.turns[-1].request
    with t.together():
        done = do.add_line(name=name, line=line)
        text = do.read_document(name=name) if wants_text else ""
    if wants_text:
        t.say("tell", name=name, text=text)
    else:
        t.say("tell_2", name=name, count=done["lines"])
    t.memory["doc"] = name


@step(Drive)
def rename_it(t: Talk, w: Drive, do: Any) -> None:
    name = _doc_here(t, w)
    if name.count("_") > 2:
        raise Skip
    new = f"{t.pick(['final', 'spring', 'client', 'signed', 'short'])}_{name}"
    t.user("ask", name=name, new=new)
    do.rename_document(name=name, new_name=new)
    t.memory["doc"] = new
    t.say("tell", name=name, new=new)


@step(Drive)
def copy_then_move(t: Talk, w: Drive, do: Any) -> None:
    name = _doc_here(t, w)
    copy = f"copy_of_{name}"
    folder = t.pick([each for each in w.folders if each not in ("/", w.open) and each.count("/") == 1])
    if copy in w.folders[w.open]:
        raise Skip
    t.user("ask", name=name, copy=copy, folder=folder)
    with t.together():
        do.duplicate_document(name=name, copy_name=copy)
        do.relocate_document(name=copy, folder=folder)
    t.say("tell", name=name, copy=copy, folder=folder)


@step(Drive)
def measure(t: Talk, w: Drive, do: Any) -> None:
    name = _doc_here(t, w)
    units = t.rng.sample(["lines", "words", "characters"], t.pick([1, 1, 2, 3]))
    t.user("ask", units=" and ".join(units), name=name)
    t.memory["fact"] = (f"{units[0]} in {name}", w.measure_document(name, units[0])[units[0]])
    with t.together():
        counts = [f"{do.measure_document(name=name, unit=unit)[unit]} {unit}" for unit in units]
    t.say("tell", name=name, counts=" and ".join(counts))


@step(Drive)
def sort_lines(t: Talk, w: Drive, do: Any) -> None:
    name = _doc_here(t, w)
    if len(w.folders[w.open][name].splitlines()) < 2:
        raise Skip
    t.user("ask", name=name)
    text = do.order_lines(name=name)
    t.say("tell", name=name, last=text.splitlines()[-1])


@step(Drive)
def bin_and_regret(t: Talk, w: Drive, do: Any) -> None:
    name = _doc_here(t, w)
    t.user("ask", name=name)
    do.bin_document(name=name)
    t.say("tell", name=name)
    if t.chance(0.5):
        t.user("ask_2")
        do.restore_document(name=name)
        t.say("tell_2", name=name)


@step(Drive)
def search_lines(t: Talk, w: Drive, do: Any) -> None:
    word = t.pick(
        [each for each in "contract roof key logo lunch numbers plants samples".split() if w.open != "/" and t.turns]
    )
    t.user("ask", word=word)
    found = do.search_text(term=word)
    if found:
        t.say("tell", hits="; ".join(f'{each["document"]} has "{each["line"]}"' for each in found))
    else:
        t.say("tell_2", word=word)


@step(Drive)
def make_subfolder(t: Talk, w: Drive, do: Any) -> None:
    name = t.pick(["drafts", "to-check", "photos", "week-12", "spare"])
    docs = [each for each in w.folders[w.open] if t.knows(each)]
    path = f"{w.open.rstrip('/')}/{name}"
    if path in w.folders or not docs or w.open == "/":
        raise Skip
    doc = t.pick(docs)
    t.user("ask", name=name, doc=doc)
    with t.together():
        do.make_folder(name=name)
        do.relocate_document(name=doc, folder=path)
    t.say("tell", doc=doc, path=path)


@step(Drive)
def write_fact(t: Talk, w: Drive, do: Any) -> None:
    words, value = t.recent("fact") or t.pick([])
    name = f"{t.pick(['results', 'figures', 'memo'])}_{t.pick(['monday', 'autumn', 'draft', '7'])}.txt"
    if name in w.folders[w.open]:
        raise Skip
    t.user("ask", name=name, words=words)
    do.write_document(name=name, text=f"{words}: {value}")
    t.memory["doc"] = name
    t.say("tell", name=name, words=words, value=value)


class HelpDesk(World):
    name = "desk"

    def __init__(self, rng: random.Random) -> None:
        teams = ["network", "billing", "hardware"]
        self.agents = [
            {"agent": f"ag-{rng.randint(100, 999)}", "name": name, "team": teams[i % 3]}
            for i, name in enumerate(rng.sample(PEOPLE, 6))
        ]
        titles = (
            "Printer prints blank pages|Invoice sent twice|VPN drops every hour|Laptop fan is loud|Wrong "
            "VAT number|No signal in room 12|Screen flickers|Refund is missing|Password mail never "
            "arrives|Keyboard keys stick"
        ).split("|")
        self.cases = [
            {
                "case": f"C-{1000 + i * 7 + rng.randint(0, 6)}",
                "title": title,
                "status": rng.choice(["new", "new", "open", "solved"]),
                "priority": rng.choice(["low", "normal", "high"]),
                "agent": None,
                "comments": [],
            }
            for i, title in enumerate(rng.sample(titles, 7))
        ]

        self.signed_in = ""

    def _case(self, case: str) -> dict[str, Any]:
        return find(self.cases, "case", case, f"case_not_found: {case}")

    def sign_in(self, user: str, password: str) -> dict[str, Any]:
        """Sign in at the help desk. | user: The name of the user. | password: The password."""
        if len(password) < 6:
            raise WorldError("wrong password")
        self.signed_in = user
        return {"signed_in": user}

    def sign_out(self) -> dict[str, Any]:
        """Sign out."""
        if not self.signed_in:
            raise WorldError("nobody is signed in")
        user, self.signed_in = self.signed_in, ""
        return {"signed_out": user}

    def find_cases(
        self, word: str | None = None, status: Literal["new", "open", "solved"] | None = None
    ) -> list[dict[str, Any]]:
        """Find cases by a word of the title, by their status, or both. | word: A word of the title. | status: The
        status."""
        fitting = [
            each
            for each in self.cases
            if (not word or word.lower() in each["title"].lower()) and (not status or each["status"] == status)
        ]
        return [{key: each[key] for key in ("case", "title", "status", "priority")} for each in fitting]

    def read_case(self, case: str) -> dict[str, Any]:
        """Read a case with all of its fields. | case: The number of the case, such as C-1004."""
        return self._case(case)

    def file_case(self, title: str, priority: Literal["low", "normal", "high"] = "normal") -> dict[str, Any]:
        """File a new case. | title: What is wrong, in a few words. | priority: How urgent it is."""
        case = {
            "case": f"C-{self._number(1100)}",
            "title": title,
            "status": "new",
            "priority": priority,
            "agent": None,
            "comments": [],
        }
        self.cases.append(case)
        return case

    def find_agent(self, name: str) -> list[dict[str, Any]]:
        """Find support agents by name. | name: The name or a part of it."""
        return [each for each in self.agents if name.lower() in each["name"].lower()]

    def team_agents(self, team: Literal["network", "billing", "hardware"]) -> list[dict[str, Any]]:
        """List the agents of a team, with the number of cases that each has. | team: The team."""
        return [
            {**each, "cases": sum(case["agent"] == each["agent"] for case in self.cases)}
            for each in self.agents
            if each["team"] == team
        ]

    def hand_case(self, case: str, agent: str) -> dict[str, Any]:
        """Give a case to an agent. | case: The number of the case. | agent: The id of the agent, such as ag-123."""
        found = self._case(case)
        find(self.agents, "agent", agent, f"agent_not_found: {agent}")
        if found["status"] == "solved":
            raise WorldError(f"{case} is solved; reopen it first")
        found.update(agent=agent, status="open")
        return {"case": case, "agent": agent, "status": "open"}

    def set_urgency(self, case: str, priority: Literal["low", "normal", "high"]) -> dict[str, Any]:
        """Change the priority of a case. | case: The number of the case. | priority: The new priority."""
        self._case(case)["priority"] = priority
        return {"case": case, "priority": priority}

    def comment_case(self, case: str, text: str) -> dict[str, Any]:
        """Write a comment on a case. | case: The number of the case. | text: The comment."""
        self._case(case)["comments"].append(text)
        return {"case": case, "comments": len(self._case(case)["comments"])}

    def solve_case(self, case: str, solution: str) -> dict[str, Any]:
        """Mark a case as solved. | case: The number of the case. | solution: What solved it."""
        found = self._case(case)
        if found["status"] == "solved":
            raise WorldError(f"{case} is solved already")
        found.update(status="solved")
        found["comments"].append(solution)
        return {"case": case, "status": "solved"}

    def reopen_case(self, case: str) -> dict[str, Any]:
        """Open a solved case again. | case: The number of the case."""
        found = self._case(case)
        if found["status"] != "solved":
            raise WorldError(f"{case} is not solved, its status is {found['status']}")
        found["status"] = "open"
        return {"case": case, "status": "open"}


def _find_case(t: Talk, do: Any, case: dict[str, Any]) -> str:
    """Look up the number of a case unless it is known; return it."""
    if not t.knows(case["case"], case["title"]):
        do.find_cases(word=case["title"].split()[0])
    return case["case"]


def _unique_case(t: Talk, w: HelpDesk, *statuses: str) -> dict[str, Any]:
    fitting = [each for each in w.cases if each["status"] in (statuses or ("new", "open", "solved"))]
    return t.pick(
        [
            each
            for each in fitting
            if sum(each["title"].split()[0].lower() in other["title"].lower() for other in w.cases) == 1
        ]
    )


@step(HelpDesk)
def hand_over(t: Talk, w: HelpDesk, do: Any) -> None:
    case, agent = _unique_case(t, w, "new", "open"), t.pick(w.agents)
    title = case["title"][0].lower() + case["title"][1:]
    t.user(
        "ask",
        wrong={"name": t.pick([each["name"] for each in w.agents if each != agent])},
        title=case["title"] if t.lang != "en" else title,
        name=agent["name"],
    )
    needs_case, needs_agent = not t.knows(case["case"], case["title"]), not t.knows(agent["agent"], agent["name"])
    with t.together():
        if needs_case:
            do.find_cases(word=case["title"].split()[0])
        if needs_agent:
            do.find_agent(name=agent["name"])
    do.hand_case(case=case["case"], agent=agent["agent"])
    t.memory["case"] = case
    t.say("tell", case=case["case"], name=agent["name"])


@step(HelpDesk)
def sign_in_and_file(t: Talk, w: HelpDesk, do: Any) -> None:
    user, password = (
        t.pick(["kim", "r.osei", "desk2"]),
        f"{t.pick(['birch', 'otter', 'maple'])}{t.rng.randint(100, 999)}",
    )
    title = t.pick(["Lights in hall B are off", "Mailbox is full", "Monitor arm is broken"])
    if w.signed_in or any(each["title"] == title for each in w.cases):
        raise Skip
    t.user("ask", user=user, password=password, title=title)
    with t.together():
        do.sign_in(user=user, password=password)
        made = do.file_case(title=title)
    t.memory["case"] = find(w.cases, "case", made["case"], "")
    t.say("tell", user=user, case=made["case"])


@step(HelpDesk)
def sign_out_now(t: Talk, w: HelpDesk, do: Any) -> None:
    if not w.signed_in:
        raise Skip
    t.user("ask")
    t.say("tell", user=do.sign_out()["signed_out"])


@step(HelpDesk)
def list_by_status(t: Talk, w: HelpDesk, do: Any) -> None:
    status = t.pick(["new", "open", "solved"])
    t.user("ask", status=status)
    found = do.find_cases(status=status)
    listed = "; ".join(f"{each['case']} ({each['title']})" for each in found)
    if found:
        t.say("tell", n=len(found), listed=listed)
    else:
        t.say("tell_2", status=status)
    t.memory["cases"] = [each["case"] for each in found]


@step(HelpDesk)
def raise_listed(t: Talk, w: HelpDesk, do: Any) -> None:
    listed = [each["case"] for each in w.cases if each["case"] in t.recent("cases", [])]
    if len(listed) < 2:
        raise Skip
    place = t.pick([0, 1, -1])
    priority = t.pick(["low", "high"])
    t.user("ask", word={0: "first", 1: "second", -1: "last"}[place], priority=priority)
    do.set_urgency(case=listed[place], priority=priority)
    t.memory["case"] = find(w.cases, "case", listed[place], "")
    t.say("tell", case=listed[place], priority=priority)


@step(HelpDesk)
def file_new(t: Talk, w: HelpDesk, do: Any) -> None:
    title, priority = (
        t.pick(
            (
                "Coffee machine leaks|Badge does not open door 3|Scanner is offline|Contract PDF is "
                "empty|Phone rings without end"
            ).split("|")
        ),
        t.pick(["low", "high"]),
    )
    if any(each["title"] == title for each in w.cases):
        raise Skip
    t.user("ask", title=title, priority=priority)
    made = do.file_case(title=title, priority=priority)
    t.memory["case"] = find(w.cases, "case", made["case"], "")
    t.say("tell", case=made["case"])


@step(HelpDesk)
def comment_it(t: Talk, w: HelpDesk, do: Any) -> None:
    case = t.recent("case") or (_unique_case(t, w) if t.chance(0.4) else t.pick([]))
    text = t.pick("customer called again|waiting for an answer|they sent a photo|it came back today".split("|"))
    is_known = t.recent("case") is case
    what = "it" if is_known and t.turns and case["case"] in str(t.turns[-1].messages) else f"the case '{case['title']}'"
    t.user("ask", what=what, text=text)
    _find_case(t, do, case)
    count = do.comment_case(case=case["case"], text=text)["comments"]
    t.memory["case"] = case
    t.say("tell", case=case["case"], count=count, word="comment" if count == 1 else "comments")


@step(HelpDesk)
def solve_or_reopen(t: Talk, w: HelpDesk, do: Any) -> None:
    case = _unique_case(t, w)
    solution = t.pick(["replaced the cable", "sent a corrected invoice", "updated the driver", "cleaned it"])
    t.user("ask", title=case["title"], solution=solution)
    _find_case(t, do, case)
    if case["status"] == "solved" and t.knows(case["case"], case["title"]):
        t.say("tell", case=case["case"])
        return
    do.solve_case(case=case["case"], solution=solution)
    t.say("tell_2", case=case["case"])
    if t.chance(0.4):
        t.user("ask_2")
        do.reopen_case(case=case["case"])
        t.say("tell_3", case=case["case"])


@step(HelpDesk)
def to_the_freest(t: Talk, w: HelpDesk, do: Any) -> None:
    case, team = _unique_case(t, w, "new", "open"), t.pick(["network", "billing", "hardware"])
    loads = [sum(each["agent"] == agent["agent"] for each in w.cases) for agent in w.agents if agent["team"] == team]
    if len(set(loads)) != len(loads):
        raise Skip
    t.user("ask", team=team, title=case["title"])
    is_known = t.knows(case["case"], case["title"])
    with t.together():
        found = do.team_agents(team=team)
        if not is_known:
            do.find_cases(word=case["title"].split()[0])
    best = min(found, key=lambda each: each["cases"])
    do.hand_case(case=case["case"], agent=best["agent"])
    t.memory["case"] = case
    t.say("tell", name=best["name"], n=best["cases"], case=case["case"])
