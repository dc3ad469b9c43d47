"""The counter of a depot that hires out building machines: ten functions, with the house rules in their docstrings.

No model can guess these rules: machines and parts have names that only this depot uses, and near functions are told
apart by them. train.jsonl and measure.jsonl beside this file are requests of the staff and the calls that are right.

$ python examples/depot/depot.py
free_machines('plate', '2026-05-12') → ['M-0552', 'M-0431']
find_customer('hale') → ['K20881 Hale Groundworks']
reserve('M-0552', 'K20881', '2026-05-12', half='am') → 'M-0552 is held for K20881 on 2026-05-12, am'
take_back('M-0417', tank='half', mucky=True) → 'M-0417 is back from K20881; to bill: fuel, washing'
hire_out('M-0603', 'K20881', '2026-05-20', price_class='A') → 'M-0603 is out to K20881 until 2026-05-20, class A'
extend_hire('M-0288', '2026-05-30') → error: the hire of M-0288 ended on 2026-05-04: rehire
rehire('M-0288', 'K31507', '2026-05-30') → 'M-0288 is out to K31507 until 2026-05-30, class B'
report_defect('M-0417', 'hydraulics', red_tag=True) → 'the Pit has M-0417: hydraulics, red tag'
report_damage('M-0603', 'K20881', 'body') → 'the Nest bills K20881 for M-0603: body'
credit('K31507', 220, 'late') → error: more than 150 euros need approved_by
credit('K31507', 220, 'late', approved_by='GN') → 'K31507 has 220.00 euros of credit: late'
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

Kind = Literal[
    "digger", "dumper", "plate", "breaker", "lift", "generator", "pump", "heater"
]
Half = Literal["am", "pm", "both"]
PriceClass = Literal["A", "B", "C", "D"]
Part = Literal[
    "engine", "hydraulics", "electrics", "running_gear", "attachment", "body"
]

TODAY = date(2026, 5, 6)
FREE_CREDIT = 150
"""The most euros of credit that the counter gives without an approval."""


@dataclass
class Machine:
    kind: Kind
    in_yard_since: str = ""
    customer: str = ""
    back_on: str = ""
    red_tag: bool = False
    reserved: set[tuple[str, Half]] = field(default_factory=set[tuple[str, Half]])


MACHINES = {
    "M-0417": Machine("digger", customer="K20881", back_on="2026-05-08"),
    "M-0603": Machine("digger", in_yard_since="2026-05-02"),
    "M-0552": Machine("plate", in_yard_since="2026-04-21"),
    "M-0431": Machine("plate", in_yard_since="2026-05-05"),
    "M-0288": Machine("pump", customer="K31507", back_on="2026-05-04"),
}
CUSTOMERS = {
    "K20881": "Hale Groundworks",
    "K31507": "Ostrava Roofing",
    "K40012": "St Brannoc's School",
}
CREDITS: dict[str, float] = {}


def find_customer(name: str) -> list[str]:
    """Find the number of a customer by name.

    Every other function takes numbers only. If a request names a customer without the number, call this function
    alone first, and go on when the number is known.

    Args:
        name: The name or a part of it, such as Hale.
    """
    return [
        f"{number} {each}"
        for number, each in CUSTOMERS.items()
        if name.casefold() in each.casefold()
    ]


def free_machines(kind: Kind, day: str, half: Half = "both") -> list[str]:
    """List the machines of a kind that stand free in the yard on a day.

    If a request names a kind of machine without a number, call this function alone first. The list begins with the
    machine that has stood longest: go on with that one, unless the request says otherwise.

    Args:
        kind: The kind. The yard says toad for a plate, woodpecker for a breaker, giraffe for a lift, mule for a dumper,
            duck for a pump, dragon for a heater and donkey for a generator.
        day: The day as YYYY-MM-DD, in 2026 if no year is said. Ask if only a weekday is said.
        half: am or pm for half a day, both for a whole one.
    """
    free = {
        number: machine
        for number, machine in MACHINES.items()
        if machine.kind == kind and machine.in_yard_since and not machine.red_tag
        if not _is_reserved(machine, day, half)
    }
    return sorted(free, key=lambda number: free[number].in_yard_since)


def reserve(machine: str, customer: str, day: str, half: Half = "both") -> str:
    """Hold a machine for a customer on a later day ("pencil in", "put by"). It stays in the yard.

    Args:
        machine: The number as M-0417: M, a hyphen, four digits. Staff often say only 417.
        customer: The number as K20881. Staff often leave out the K.
        day: The day as YYYY-MM-DD, in 2026 if no year is said. Ask if only a weekday is said.
        half: am or pm for half a day, both for a whole one.
    """
    held = _get_machine(machine)
    _check_customer(customer)
    if _is_reserved(held, day, half):
        raise ValueError(f"{machine} is already held on {day}")
    held.reserved.add((day, half))
    return f"{machine} is held for {customer} on {day}, {half}"


def hire_out(
    machine: str,
    customer: str,
    back_on: str,
    price_class: PriceClass = "B",
    brolly: bool = False,
) -> str:
    """Hand a machine over the counter now ("goes out", "takes"). For a later day, reserve it.

    A swap is one machine back and another one out to the same customer: take_back first, then hire_out.

    Args:
        machine: The number as M-0417.
        customer: The number as K20881.
        back_on: The day of return as YYYY-MM-DD, in 2026 if no year is said. Ask if only a weekday is said.
        price_class: A on account, B cash, C good cause (clubs, schools, charities), D mates (our own staff).
        brolly: Whether the customer takes the brolly, our damage waiver.
    """
    hired = _get_machine(machine)
    _check_customer(customer)
    if hired.customer or hired.red_tag:
        raise ValueError(
            f"{machine} is out to {hired.customer}"
            if hired.customer
            else f"{machine} has a red tag"
        )
    hired.customer, hired.back_on, hired.in_yard_since = customer, back_on, ""
    covered = ", with brolly" if brolly else ""
    return (
        f"{machine} is out to {customer} until {back_on}, class {price_class}{covered}"
    )


def take_back(
    machine: str, tank: Literal["full", "half", "empty"], mucky: bool = False
) -> str:
    """Take a machine back from hire ("is back", "off hire", "came in").

    Args:
        machine: The number as M-0417.
        tank: The fuel as dipped. Ask if it is not said: what is missing is billed. Electric machines count as full.
        mucky: Whether it must be washed, which is billed.
    """
    returned = _get_machine(machine)
    if not returned.customer:
        raise ValueError(f"{machine} is not out")
    extras = [
        name for name, due in {"fuel": tank != "full", "washing": mucky}.items() if due
    ]
    report = f"{machine} is back from {returned.customer}; to bill: {', '.join(extras) or 'nothing'}"
    returned.customer, returned.back_on, returned.in_yard_since = (
        "",
        "",
        TODAY.isoformat(),
    )
    return report


def extend_hire(machine: str, back_on: str) -> str:
    """Move the day of return of a hire that still runs. If the hire is overdue or has run out, use rehire.

    Args:
        machine: The number as M-0417.
        back_on: The new day of return as YYYY-MM-DD, in 2026 if no year is said. Ask if only a weekday is said.
    """
    hired = _get_machine(machine)
    if not hired.customer:
        raise ValueError(f"{machine} is not out")
    if hired.back_on < TODAY.isoformat():
        raise ValueError(f"the hire of {machine} ended on {hired.back_on}: rehire")
    hired.back_on = back_on
    return f"{machine} stays with {hired.customer} until {back_on}"


def rehire(machine: str, customer: str, back_on: str) -> str:
    """Open a new hire for a customer who keeps a machine after the day of return has passed.

    A rehire is always in class B.

    Args:
        machine: The number as M-0417.
        customer: The number as K20881.
        back_on: The new day of return as YYYY-MM-DD, in 2026 if no year is said. Ask if only a weekday is said.
    """
    if _get_machine(machine).customer != customer:
        raise ValueError(f"{machine} is not with {customer}")
    _get_machine(machine).back_on = back_on
    return f"{machine} is out to {customer} until {back_on}, class B"


def report_defect(machine: str, part: Part, red_tag: bool = False) -> str:
    """Send a machine to the Pit, our workshop, with a fault that is nobody's doing: wear, or it just failed.

    If a customer broke it, use report_damage instead, never both. If nobody is blamed, it is a defect.

    Args:
        machine: The number as M-0417.
        part: What is at fault. Electrics: also a machine that does not start. Hydraulics: also any leak of oil.
            Running gear: tracks, wheels, brakes. Attachment: bucket, chisel, basket. Body: cab, seat, panels.
        red_tag: Whether the machine gets a red tag: nobody may hire it until the Pit is done.
    """
    _get_machine(machine).red_tag |= red_tag
    return f"the Pit has {machine}: {part}{', red tag' if red_tag else ''}"


def report_damage(machine: str, customer: str, part: Part, brolly: bool = False) -> str:
    """Tell the Nest, our claims desk, what a customer broke. The Nest bills the customer.

    Args:
        machine: The number as M-0417.
        customer: The number as K20881, of the customer who broke it.
        part: What is broken, with the same names as in report_defect.
        brolly: Whether the customer has the brolly, our damage waiver.
    """
    _get_machine(machine)
    _check_customer(customer)
    return f"the Nest bills {customer} for {machine}: {part}{', with brolly' if brolly else ''}"


def credit(
    customer: str,
    euros: float,
    reason: Literal["late", "defect", "billing", "goodwill"],
    approved_by: str = "",
) -> str:
    """Give a customer credit on the next bill.

    More than 150 euros need the approval of a shift lead: ask who approved it if that is not said. Up to 150 euros
    leave approved_by out, even if a name is said.

    Args:
        customer: The number as K20881.
        euros: The amount.
        reason: late if we handed over late, defect if a machine failed on site, billing if a bill was wrong, goodwill
            for everything else ("a sweetener").
        approved_by: The initials of the shift lead in capitals: GN for Greta Nilsen.
    """
    _check_customer(customer)
    if euros > FREE_CREDIT and not approved_by:
        raise ValueError(f"more than {FREE_CREDIT} euros need approved_by")
    CREDITS[customer] = CREDITS.get(customer, 0) + euros
    return f"{customer} has {CREDITS[customer]:.2f} euros of credit: {reason}"


def _get_machine(number: str) -> Machine:
    if number not in MACHINES:
        raise ValueError(f"there is no machine {number}")
    return MACHINES[number]


def _check_customer(number: str) -> None:
    if number not in CUSTOMERS:
        raise ValueError(f"there is no customer {number}")


def _is_reserved(machine: Machine, day: str, half: Half) -> bool:
    return any(
        held_day == day and (held == half or "both" in (held, half))
        for held_day, held in machine.reserved
    )


def _show(function: Callable[..., object], *values: object, **named: object) -> None:
    written = [
        *map(repr, values),
        *(f"{name}={value!r}" for name, value in named.items()),
    ]
    try:
        result = repr(function(*values, **named))
    except ValueError as error:
        result = f"error: {error}"
    print(f"{function.__name__}({', '.join(written)}) → {result}")


def main() -> None:
    _show(free_machines, "plate", "2026-05-12")
    _show(find_customer, "hale")
    _show(reserve, "M-0552", "K20881", "2026-05-12", half="am")
    _show(take_back, "M-0417", tank="half", mucky=True)
    _show(hire_out, "M-0603", "K20881", "2026-05-20", price_class="A")
    _show(extend_hire, "M-0288", "2026-05-30")
    _show(rehire, "M-0288", "K31507", "2026-05-30")
    _show(report_defect, "M-0417", "hydraulics", red_tag=True)
    _show(report_damage, "M-0603", "K20881", "body")
    _show(credit, "K31507", 220, "late")
    _show(credit, "K31507", 220, "late", approved_by="GN")


if __name__ == "__main__":
    main()
