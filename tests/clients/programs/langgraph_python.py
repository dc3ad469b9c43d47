"""A graph of LangGraph: a node that asks the model, and one that runs its tools."""

from typing import Any

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from weather import SCHEMA, TOOLS, Report, Told, api, calculator, get_weather, play, streamed, url

options: dict[str, Any] = {"base_url": f"{url}/v1", "api_key": "none", "max_retries": 0}
model = ChatOpenAI(model="small", streaming=streamed, use_responses_api=api == "responses", **options)
functions = [get_weather, calculator]


def run(told: Told, question: str, asked: Any) -> None:
    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [asked.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("tools", ToolNode(functions))
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", tools_condition, {"tools": "tools", END: END})
    graph.add_edge("tools", "ask")
    state: Any = {"messages": [("user", question)]}
    for kind, value in graph.compile().stream(state, stream_mode=["messages", "values"]):
        if kind == "messages":
            told.pieces += value[0].type == "AIMessageChunk" and bool(value[0].text)
        else:
            state = value
    for message in state["messages"]:
        if message.type == "ai":
            told.add(message.text)


def run_with_schema(told: Told) -> None:
    run(told, SCHEMA, model.bind_tools(functions, response_format=Report, strict=True))
    told.object = Report.model_validate_json(told.text[-1])


def parse(told: Told) -> None:
    told.pieces = 1  # it gives whole objects only
    structured = model.with_structured_output(Report, method="json_schema")
    told.object = list(structured.stream(SCHEMA))[-1] if streamed else structured.invoke(SCHEMA)


play({"tools": lambda told: run(told, TOOLS, model.bind_tools(functions)), "schema": parse, "both": run_with_schema})
