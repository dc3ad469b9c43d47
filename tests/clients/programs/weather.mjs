// What the programs of this folder share: the conversation of the tests, its tools, and how a program reports.

import { z } from "zod";

export const [url, api, scenario, mode] = process.argv.slice(2);
export const streamed = mode === "streamed";

export const TOOLS = "What's the weather like in Paris and London? Also convert 20C to Fahrenheit.";
export const SCHEMA = "How is the weather in Paris?";

const WEATHER = { Paris: "sunny, 21 °C", London: "rain, 15 °C" };

/** Which tools ran, in order. */
export const ran = [];

export function getWeather({ city }) {
  ran.push(["get_weather", city]);
  return WEATHER[city];
}

export function calculator({ expression }) {
  ran.push(["calculator", expression]);
  return "68.0";
}

export const tools = [
  { name: "get_weather", description: "The current weather in a city.", argument: "city", run: getWeather },
  { name: "calculator", description: "The value of an arithmetic expression.", argument: "expression", run: calculator },
].map((tool) => ({ ...tool, schema: z.object({ [tool.argument]: z.string() }) }));

export const Report = z.object({ city: z.string(), degrees: z.number().int(), words: z.array(z.string()) });

/** Print what came of the conversation, for the test. */
export function tell({ text = null, object = null, pieces = 0 }) {
  console.log(JSON.stringify({ text, object, pieces, ran }));
}

/** Run the program of a scenario. */
export async function play(scenarios) {
  tell(await scenarios[scenario]());
}
