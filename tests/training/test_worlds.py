"""Conversations in worlds: what is taught is right, has the form of a run, and copies no benchmark."""

import re
import sys
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any

from tests.cases import RUNS_ALL, each_case
from toolspeak.dialects import DIALECTS
from toolspeak.models.adapters import MANY_TOOLS
from toolspeak.reading.forms import RESULTS_LABEL

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "training"))  # the scripts import each other

engine: Any = import_module("worlds.engine")
groups: Any = import_module("worlds.groups")
multi_turn: Any = import_module("multi_turn")
slips: Any = import_module("slips")

SCRIPTS = list(chain(*groups.draw_scripts(900 if RUNS_ALL else 75, 12)))
ALL_WORLDS = (*groups.WORLDS, *groups.REGISTERS, *groups.KEPT)

FOREIGN_NAMES = set(
    """
    absolute_value activateParkingBrake add add_contact add_to_watchlist adjustClimateControl authenticate_travel
    authenticate_twitter book_flight cancel_booking cancel_order cat cd check_tire_pressure close_ticket comment
    compute_exchange_rate contact_customer_support cp create_ticket delete_message diff displayCarStatus display_log divide du
    echo edit_ticket estimate_distance estimate_drive_feasibility_by_mileage fillFuelTank filter_stocks_by_price find
    find_nearest_tire_shop follow_user fund_account gallon_to_liter get_account_info get_all_credit_cards
    get_available_stocks get_booking_history get_budget_fiscal_year get_credit_card_balance get_current_speed
    get_current_time get_flight_cost get_message_stats get_nearest_airport_by_city get_order_details get_order_history
    get_outside_temperature_from_google get_stock_info get_symbol_by_name get_ticket get_transaction_history get_tweet
    get_tweet_comments get_user_id get_user_stats get_user_tickets get_user_tweets get_watchlist get_zipcode_based_on_city
    grep imperial_si_conversion list_all_airports list_all_following list_users liter_to_gallon lockDoors logarithm logout ls
    max_value mean mention message_login min_value mkdir multiply mv notify_price_change percentage place_order post_tweet
    power pressBrakePedal purchase_insurance pwd register_credit_card releaseBrakePedal remove_stock_from_watchlist
    resolve_ticket retrieve_invoice retweet rm rmdir round_number search_messages search_tweets send_message
    setCruiseControl setHeadlights set_budget_limit set_navigation si_unit_conversion sort square_root standard_deviation
    startEngine subtract sum_values tail ticket_login touch trading_login trading_logout unfollow_user
    verify_traveler_information view_messages_sent wc withdraw_funds
    book_reservation calculate cancel_pending_order cancel_reservation exchange_delivered_order_items find_user_id_by_email
    get_product_details get_reservation_details get_user_details list_all_product_types modify_pending_order_items
    return_delivered_order_items search_direct_flight send_certificate think transfer_to_human_agents
    update_reservation_flights
    append_to_file create_calendar_event create_file delete_email get_balance get_current_day get_iban get_webpage
    invite_user_to_slack list_files read_file reschedule_calendar_event reserve_hotel schedule_transaction
    search_calendar_events search_emails search_files send_direct_message send_email send_money share_file update_password
""".split()
)
"""The names of the tools of BFCL's conversations, and those of other benchmarks with worlds."""


def play_right(script: Any) -> list[list[list[str]]]:
    """Return the right calls as `play` notes them."""
    turns = ([each for each in turn.messages if isinstance(each, engine.Calls)] for turn in script.turns)
    return [[[engine.write_code(*call) for call in each.calls] for each in turn if not each.is_slip] for turn in turns]


def test_each_world_has_tools_of_its_own():
    names = [name for world in ALL_WORLDS for name in (*world.tool_names(), *world.aliases.values())]
    assert len(names) == len(set(names))
    assert len(groups.WORLDS) >= 12
    assert len(groups.KEPT) == 2
    assert all(8 <= len(world.tool_names()) <= 25 for world in ALL_WORLDS)
    assert not {re.sub("_", "", name).lower() for name in names} & {
        re.sub("_", "", name).lower() for name in FOREIGN_NAMES
    }


def test_nothing_of_a_kept_world_is_trained_on():
    assert not {world for script in SCRIPTS for world in script.setting.worlds} & set(groups.KEPT)
    assert {world for script in groups.draw_kept() for world in script.setting.worlds} == set(groups.KEPT)


def test_the_right_calls_are_right_in_every_turn_and_nothing_else_is():
    for script in (*SCRIPTS, *groups.draw_kept()):
        assert all(script.judge(play_right(script))), script.id
        marks = script.judge([[] for _ in script.turns])
        first = next((place for place, calls in enumerate(script.truth) if calls), len(marks))
        assert all(marks[:first]), script.id
        if first < len(marks):
            assert not marks[first] or not any(script.truth), script.id


def test_ids_in_calls_were_said_or_returned_before():
    for script in SCRIPTS:
        heard = ""
        for turn in script.turns:
            heard += turn.request
            for message in turn.messages:
                if isinstance(message, engine.Calls):
                    leaves = [leaf for _, arguments in message.calls for leaf in engine.list_leaves(arguments)]
                    ids = [each for each in leaves if isinstance(each, str) and engine.ID.fullmatch(each)]
                    assert message.is_slip or all(each in heard for each in ids), (script.id, message)
                    heard += str(message.results)


def test_a_request_is_said_in_four_languages():
    assert {script.lang for script in SCRIPTS} == {"en", "de", "fr", "es"}


@each_case("dialect", list(DIALECTS))
def test_examples_have_the_form_of_a_run(dialect: str):
    """What comes before each target is what a model is shown that gave the right answers so far."""
    for script in SCRIPTS[:10]:
        targets = 0
        shown: list[str] = []
        for system, example in groups.write_examples(script, dialect):
            written = system
            for part in (example, *example["following"]):
                shown.append(written + part["rest"])
                written += f"{part['rest']}{part['target']}<|im_end|>"
                targets += 1
        taught = [each for turn in script.turns for each in turn.messages if isinstance(each, str) or not each.is_slip]
        assert targets == len(taught), script.id
        conversation = multi_turn.Conversation(script, dialect, slips.vary_dialect(dialect, script.id))
        for turn in script.turns:
            for message in turn.messages:
                is_slip = isinstance(message, engine.Calls) and message.is_slip
                assert is_slip or conversation.prompt == shown.pop(0), script.id
                words = isinstance(message, str)
                text = message if words else groups.write_calls(message, conversation.tools, dialect)
                conversation.take(text)
        assert conversation.prompt is None
        assert set(conversation.ends) == {"answered"}


def test_some_calls_go_wrong_and_are_not_taught():
    slips = [each for script in SCRIPTS for turn in script.turns for each in turn.messages
             if isinstance(each, engine.Calls) and each.is_slip]  # fmt: skip
    assert len(slips) > len(SCRIPTS) / 10


def test_a_tool_may_come_later():
    later = [script for script in SCRIPTS if any(turn.hidden for turn in script.turns)]
    assert later
    for script in later:
        hidden = {name for turn in script.turns for name in turn.hidden}
        place = max(place for place, turn in enumerate(script.turns) if turn.hidden)
        assert not hidden & {spec.name for spec in script.tools_at(place)}
        assert hidden <= {spec.name for spec in script.tools_at(place + 1)}
        assert not script.truth[place]


def test_kept_conversations_are_played_and_judged_like_bfcls():
    scripts = multi_turn.load_scripts("worlds")[:6]
    assert [script.id for script in scripts] == [script.id for script in groups.draw_kept()[:6]]
    conversations = [multi_turn.Conversation(script, "python") for script in scripts]
    ended = list(multi_turn.play_all(conversations, lambda prompts: [("I can't do that.", False)] * len(prompts)))
    assert len(ended) == len(scripts)
    for each in ended:
        assert len(each.script.judge(each.to_row()["steps"])) == len(each.script.turns)


def test_what_follows_results_is_answered_with_the_other_adapter():
    few = (each for each in SCRIPTS if max(len(each.tools_at(turn)) for turn in range(len(each.turns))) < MANY_TOOLS)
    conversations = [multi_turn.Conversation(script, "python") for script in islice(few, 6)]
    used: list[int] = []
    called: list[bool] = []
    answered_with: list[int] = []

    def answer(prompts: list[str]) -> list[tuple[str, bool]]:
        texts = []
        for conversation in (each for each in conversations if each.prompt in prompts):
            calls = conversation.script.truth[len(conversation.steps) - 1]
            is_calling = not conversation.steps[-1] and bool(calls)
            texts.append(f"```python\n{calls[0]}\n```" if is_calling else "That is done.")
            last_message = conversation.prompt.rpartition("<|im_start|>user")[2]
            assert used[-1] == (RESULTS_LABEL in last_message and "Error:" not in last_message)
            called.append(is_calling)
            answered_with.append(used[-1])
        return [(text, False) for text in texts]

    list(multi_turn.play_all(conversations, answer, used.append))
    assert any(called)
    assert 1 in answered_with
