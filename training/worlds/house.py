"""Worlds of a house: music and its devices."""

import random
from typing import Any, Literal

from worlds.engine import Error, Skip, Talk, World, WorldError, find, step


class Music(World):
    name = "music"

    def __init__(self, rng: random.Random) -> None:
        artists = rng.sample(["The Lanterns", "Mira Sol", "Cold Harbour", "Juno Pike", "Delta Nine"], 4)
        titles = rng.sample(
            (
                "Paper Boats|Night Bus|Copper Sky|Slow Tide|Glass House|Long Way Down|Second Summer|Red "
                "Gravel|Northbound|Quiet Hours|Half Moon|Salt"
            ).split("|"),
            10,
        )
        self.tracks = [
            {
                "track": f"tr{rng.randint(100, 999)}",
                "title": title,
                "artist": rng.choice(artists),
                "seconds": rng.randint(120, 400),
                "year": rng.randint(1990, 2024),
            }
            for title in titles
        ]
        self.playlists = [
            {
                "playlist": f"pl{rng.randint(10, 99)}",
                "title": title,
                "tracks": [each["track"] for each in rng.sample(self.tracks, 2)],
            }
            for title in rng.sample(["Running", "Dinner", "Focus", "Road trip"], 3)
        ]
        self.playing = ""
        self.queue: list[str] = []
        self.volume = 40
        self.liked: list[str] = []

    def search_music(self, artist: str | None = None, title: str | None = None) -> list[dict[str, Any]]:
        """Search tracks by artist, by title, or both. | artist: The artist or a part of the name. | title: The title or
        a part of it."""
        return [
            each
            for each in self.tracks
            if (artist or "").lower() in each["artist"].lower() and (title or "").lower() in each["title"].lower()
        ]

    def play_track(self, track: str) -> dict[str, Any]:
        """Play a track now. | track: The id of the track."""
        found = find(self.tracks, "track", track, f"track {track} not found")
        self.playing = track
        return {"playing": found["title"], "artist": found["artist"]}

    def enqueue(self, tracks: list[str]) -> dict[str, Any]:
        """Put tracks at the end of the queue. | tracks: The ids of the tracks."""
        for each in tracks:
            find(self.tracks, "track", each, f"track {each} not found")
        self.queue += tracks
        return {"queue": self.queue}

    def next_track(self) -> dict[str, Any]:
        """Go on to the next track of the queue."""
        if not self.queue:
            raise WorldError("the queue is empty")
        self.playing = self.queue.pop(0)
        return {"playing": find(self.tracks, "track", self.playing, "")["title"]}

    def now_playing(self) -> dict[str, Any]:
        """Tell what is playing."""
        if not self.playing:
            return {"playing": None}
        return find(self.tracks, "track", self.playing, "")

    def list_playlists(self) -> list[dict[str, Any]]:
        """List the playlists with their ids and the number of their tracks."""
        return [
            {"playlist": each["playlist"], "title": each["title"], "tracks": len(each["tracks"])}
            for each in self.playlists
        ]

    def start_playlist(self, title: str) -> dict[str, Any]:
        """Make a new, empty playlist. | title: Its title."""
        self.playlists.append({"playlist": f"pl{self._number(100)}", "title": title, "tracks": []})
        return self.playlists[-1]

    def extend_playlist(self, playlist: str, tracks: list[str]) -> dict[str, Any]:
        """Add tracks to a playlist. | playlist: The id of the playlist. | tracks: The ids of the tracks."""
        found = find(self.playlists, "playlist", playlist, f"playlist {playlist} not found")
        for each in tracks:
            find(self.tracks, "track", each, f"track {each} not found")
        found["tracks"] += tracks
        return {"playlist": playlist, "tracks": len(found["tracks"])}

    def set_volume(self, percent: int) -> dict[str, Any]:
        """Set the volume. | percent: Between 0 and 100."""
        if not 0 <= percent <= 100:
            raise WorldError("the volume must be between 0 and 100")
        self.volume = percent
        return {"volume": percent}

    def get_volume(self) -> dict[str, Any]:
        """Tell the volume in percent."""
        return {"volume": self.volume}

    def favour(self, track: str) -> dict[str, Any]:
        """Mark a track as a favourite. | track: The id of the track."""
        find(self.tracks, "track", track, f"track {track} not found")
        self.liked.append(track)
        return {"favourites": len(self.liked)}


@step(Music)
def search_artist(t: Talk, w: Music, do: Any) -> None:
    artist = t.pick([each["artist"] for each in w.tracks])
    t.user("ask", artist=artist)
    found = do.search_music(artist=artist)
    t.memory["found"] = found
    listed = ", ".join(f"{each['title']} ({each['year']})" for each in found)
    t.say("tell", artist=artist, listed=listed)


@step(Music)
def play_found(t: Talk, w: Music, do: Any) -> None:
    found = t.recent("found", [])
    if len(found) < 2:
        raise Skip
    kind = t.pick(["first", "last", "newest", "shortest"])
    track = {
        "first": found[0],
        "last": found[-1],
        "newest": max(found, key=lambda each: each["year"]),
        "shortest": min(found, key=lambda each: each["seconds"]),
    }[kind]
    if [each["year"] for each in found].count(track["year"]) > 1:
        raise Skip
    if t.chance(0.5):
        t.user("ask", kind=kind)
        do.play_track(track=track["track"])
        t.say("tell", title=track["title"], artist=track["artist"])
    else:
        rest = [each for each in found if each is not track]
        t.user("ask_2", kind=kind)
        with t.together():
            do.play_track(track=track["track"])
            do.enqueue(tracks=[each["track"] for each in rest])
        t.say("tell_2", title=track["title"], rest=", ".join(each["title"] for each in rest))


@step(Music)
def play_title(t: Talk, w: Music, do: Any) -> None:
    track = t.pick(w.tracks)
    t.user("ask", title=track["title"])
    if not t.knows(track["track"], track["title"]):
        do.search_music(title=track["title"])
    do.play_track(track=track["track"])
    t.memory["track"] = track
    t.say("tell", title=track["title"], artist=track["artist"])


@step(Music)
def louder(t: Talk, w: Music, do: Any) -> None:
    if t.chance(0.5):
        level = t.rng.randint(1, 10) * 10 + t.pick([0, 5])
        t.user("ask", level=level)
        if isinstance(do.set_volume(percent=level), Error):
            t.say("tell")
        else:
            t.say("tell_2", level=level)
        return
    change = t.pick([5, 10, 15, 20])
    if w.volume + change > 100:
        raise Skip
    t.user("ask_2", change=change)
    level = do.get_volume()["volume"] + change
    do.set_volume(percent=level)
    t.say("tell_3", old=level - change, level=level)


@step(Music)
def collect(t: Talk, w: Music, do: Any) -> None:
    first, second = t.rng.sample(w.tracks, 2)
    if t.chance(0.5):
        title = t.pick(["Sunday", "Rainy days", "Kitchen", "Train ride"])
        if any(each["title"] == title for each in w.playlists):
            raise Skip
        t.user("ask", title=title, a=first["title"], b=second["title"])
        unknown = [each for each in (first, second) if not t.knows(each["track"], each["title"])]
        with t.together():
            made = do.start_playlist(title=title)["playlist"]
            for each in unknown:
                do.search_music(title=each["title"])
    else:
        playlist = t.pick(w.playlists)
        title, made = playlist["title"], playlist["playlist"]
        t.user("ask_2", title=title, a=first["title"], b=second["title"])
        unknown, is_known = (
            [each for each in (first, second) if not t.knows(each["track"], each["title"])],
            t.knows(made, title),
        )
        with t.together():
            if not is_known:
                do.list_playlists()
            for each in unknown:
                do.search_music(title=each["title"])
    count = do.extend_playlist(playlist=made, tracks=[first["track"], second["track"]])["tracks"]
    t.say("tell", title=title, count=count, a=first["title"], b=second["title"])


@step(Music)
def about_playing(t: Talk, w: Music, do: Any) -> None:
    if not w.playing:
        raise Skip
    if t.chance(0.5) and w.queue:
        t.user("ask")
        t.say("tell", title=do.next_track()["playing"])
        return
    track = find(w.tracks, "track", w.playing, "")
    if track["track"] in w.liked:
        raise Skip
    t.user("ask_2")
    if not t.knows(track["track"], track["title"]):
        do.now_playing()
    count = do.favour(track=track["track"])["favourites"]
    t.say("tell_2", title=track["title"], count=count)


class Home(World):
    name = "home"

    def __init__(self, rng: random.Random) -> None:
        self.devices: list[dict[str, Any]] = []
        for room in ("kitchen", "bedroom", "living room", "study"):
            for kind in rng.sample(["lamp", "heater", "blind", "lamp"], 3):
                state = {
                    "lamp": {"on": rng.random() < 0.5},
                    "heater": {"degrees": rng.randint(16, 22)},
                    "blind": {"closed": rng.choice([0, 50, 100])},
                }[kind]
                self.devices.append(
                    {"device": f"d{rng.randint(10, 99)}{len(self.devices)}", "room": room, "kind": kind, **state}
                )
        self.doors = {"front": rng.random() < 0.5, "garage": rng.random() < 0.5}  # whether they are locked
        self.timers: list[dict[str, Any]] = []

    def _device(self, device: str, kind: str) -> dict[str, Any]:
        found = find(self.devices, "device", device, f"device {device} is not paired")
        if found["kind"] != kind:
            raise WorldError(f"device {device} is a {found['kind']}, not a {kind}")
        return found

    def room_devices(self, room: Literal["kitchen", "bedroom", "living room", "study"]) -> list[dict[str, Any]]:
        """List the devices of a room with their ids and states. | room: The room."""
        return [each for each in self.devices if each["room"] == room]

    def switch_lamp(self, device: str, on: bool) -> dict[str, Any]:
        """Switch a lamp on or off. | device: The id of the lamp. | on: Whether it is on."""
        self._device(device, "lamp")["on"] = on
        return {"device": device, "on": on}

    def warm_to(self, device: str, degrees: int) -> dict[str, Any]:
        """Set the temperature of a heater. | device: The id of the heater. | degrees: Degrees Celsius, 5 to 28."""
        if not 5 <= degrees <= 28:
            raise WorldError("degrees must be between 5 and 28")
        self._device(device, "heater")["degrees"] = degrees
        return {"device": device, "degrees": degrees}

    def close_blind(self, device: str, percent: int) -> dict[str, Any]:
        """Move a blind. | device: The id of the blind. | percent: How far it is closed: 0 is open, 100 closed."""
        self._device(device, "blind")["closed"] = percent
        return {"device": device, "closed": percent}

    def door_states(self) -> dict[str, str]:
        """Tell which doors are locked."""
        return {key: "locked" if value else "unlocked" for key, value in self.doors.items()}

    def bolt_door(self, door: Literal["front", "garage"], locked: bool) -> dict[str, Any]:
        """Lock or unlock a door. | door: The door. | locked: True to lock it."""
        self.doors[door] = locked
        return {"door": door, "locked": locked}

    def all_lamps_off(self) -> dict[str, Any]:
        """Switch all lamps of the house off."""
        lamps = [each for each in self.devices if each["kind"] == "lamp" and each["on"]]
        for each in lamps:
            each["on"] = False
        return {"switched_off": len(lamps)}

    def set_timer(self, device: str, time: str) -> dict[str, Any]:
        """Have a device switched off at a time. | device: The id of the device. | time: The time, as HH:MM."""
        find(self.devices, "device", device, f"device {device} is not paired")
        self.timers.append({"timer": f"t{self._number(0)}", "device": device, "time": time})
        return self.timers[-1]

    def drop_timer(self, timer: str) -> dict[str, Any]:
        """Remove a timer. | timer: The id of the timer."""
        self.timers.remove(find(self.timers, "timer", timer, f"no timer {timer}"))
        return {"removed": timer}


ROOMS = {
    "kitchen": {"de": "in der Küche", "fr": "dans la cuisine", "es": "en la cocina"},
    "bedroom": {"de": "im Schlafzimmer", "fr": "dans la chambre", "es": "en el dormitorio"},
    "living room": {"de": "im Wohnzimmer", "fr": "dans le salon", "es": "en el salón"},
    "study": {"de": "im Arbeitszimmer", "fr": "dans le bureau", "es": "en el estudio"},
}


def _in(t: Talk, room: str) -> str:
    return ROOMS[room].get(t.lang, f"in the {room}")


def _look(t: Talk, do: Any, device: dict[str, Any]) -> None:
    if not t.knows(device["device"], device["room"]):
        do.room_devices(room=device["room"])


@step(Home)
def lamp(t: Talk, w: Home, do: Any) -> None:
    room = t.pick([each["room"] for each in w.devices if each["kind"] == "lamp"])
    lamps = [each for each in w.devices if each["room"] == room and each["kind"] == "lamp"]
    on = not lamps[0]["on"]
    states = {"en": ("off", "on"), "de": ("aus", "an"), "fr": ("Éteins", "Allume"), "es": ("Apaga", "Enciende")}[
        t.lang
    ][on]
    t.user("ask", where=_in(t, room), state=states)
    _look(t, do, lamps[0])
    with t.together():
        for each in lamps:
            do.switch_lamp(device=each["device"], on=on)
    t.memory["device"] = lamps[0]
    t.say("tell", where=_in(t, room), state=states)


@step(Home)
def heat(t: Talk, w: Home, do: Any) -> None:
    heater = t.pick(
        [
            each
            for each in w.devices
            if each["kind"] == "heater"
            and sum(o["room"] == each["room"] and o["kind"] == "heater" for o in w.devices) == 1
        ]
    )
    kind = t.pick(["to", "by"]) if t.lang == "en" else "to"
    degrees = t.pick([each for each in (17, 19, 20, 21, 23) if each != heater["degrees"]])
    if kind == "by":
        more = t.pick([2, 3])
        t.user("ask", more=more, where=_in(t, heater["room"]))
        old = heater["degrees"]
        do.room_devices(room=heater["room"])
        do.warm_to(device=heater["device"], degrees=old + more)
        t.say("tell", where=_in(t, heater["room"]), old=old, new=old + more)
        return
    t.user("ask_2", wrong={"degrees": degrees - 1}, where=_in(t, heater["room"]), degrees=degrees)
    _look(t, do, heater)
    do.warm_to(device=heater["device"], degrees=degrees)
    t.memory["device"] = heater
    t.say("tell_2", where=_in(t, heater["room"]), degrees=degrees)


@step(Home)
def blinds(t: Talk, w: Home, do: Any) -> None:
    blind = t.pick([each for each in w.devices if each["kind"] == "blind"])
    percent = t.pick([each for each in (0, 30, 50, 100) if each != blind["closed"]])
    where = _in(t, blind["room"])
    deed = {0: f"Open the blind {where}", 100: f"Close the blind {where}"}.get(percent, "")
    t.user("ask", deed=deed or f"Close the blind {where} to {percent} percent")
    _look(t, do, blind)
    do.close_blind(device=blind["device"], percent=percent)
    t.memory["device"] = blind
    t.say("tell", where=where, state={0: "open", 100: "closed"}.get(percent, f"{percent} percent closed"))


@step(Home)
def goodnight(t: Talk, w: Home, do: Any) -> None:
    t.user("ask")
    t.turns[-1].is_whole = False  # nothing is asked with it
    with t.together():
        count = do.all_lamps_off()["switched_off"]
        states = do.door_states()
    unlocked = [key for key, value in states.items() if value == "unlocked"]
    with t.together():
        for each in unlocked:
            do.bolt_door(door=each, locked=True)
    doors = f"I locked the {' and the '.join(unlocked)} door" if unlocked else "both doors were locked already"
    t.say("tell", count=count, doors=doors, neu=", ".join(unlocked) or "–")


@step(Home)
def door(t: Talk, w: Home, do: Any) -> None:
    name = t.pick(["front", "garage"])
    if t.chance(0.5):
        t.user("ask", name=name)
        if do.door_states()[name] == "locked":
            t.say("tell", name=name)
        else:
            do.bolt_door(door=name, locked=True)
            t.say("tell_2", name=name)
    else:
        locked = not w.doors[name]
        t.user("ask_2", deed="Lock" if locked else "Unlock", low="lock" if locked else "unlock", name=name)
        do.bolt_door(door=name, locked=locked)
        t.say("tell_3", name=name, state="locked" if locked else "unlocked")


@step(Home)
def timer(t: Talk, w: Home, do: Any) -> None:
    device = t.recent("device")
    if device is None or not t.knows(device["device"], device["room"]) or device["kind"] == "blind":
        raise Skip
    time = f"{t.rng.randint(18, 23)}:{t.pick(['00', '15', '30'])}"
    t.user("ask", kind=device["kind"], time=time, where=_in(t, device["room"]))
    made = do.set_timer(device=device["device"], time=time)
    t.say("tell", kind=device["kind"], where=_in(t, device["room"]), time=time)
    if t.chance(0.3):
        t.user("ask_2")
        do.drop_timer(timer=made["timer"])
        t.say("tell_2")
