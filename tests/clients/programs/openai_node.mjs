// OpenAI's SDK for Node: the chat API with its tool runner, and the responses API.

import OpenAI from "openai";
import { zodFunction, zodResponseFormat, zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";

import { api, play, Report, SCHEMA, streamed, TOOLS, tools, url } from "./weather.mjs";

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
const model = "small";

async function runChat(content, options = {}) {
  const runnable = tools.map(({ name, description, schema, run }) =>
    zodFunction({ name, description, parameters: schema, function: run }),
  );
  const request = { model, messages: [{ role: "user", content }], tools: runnable, ...options };
  const runner = client.chat.completions.runTools({ ...request, stream: streamed });
  let pieces = 0;
  if (streamed) runner.on("content", () => pieces++);
  const last = await runner.finalMessage();
  const text = runner.messages.filter((message) => message.role === "assistant").map((message) => message.content);
  return { text, pieces, object: options.response_format ? (last.parsed ?? JSON.parse(last.content)) : null };
}

async function parseChat() {
  const format = zodResponseFormat(Report, "report");
  const request = { model, messages: [{ role: "user", content: SCHEMA }], response_format: format };
  if (!streamed) return { object: (await client.chat.completions.parse(request)).choices[0].message.parsed };
  const stream = client.chat.completions.stream(request);
  let pieces = 0;
  stream.on("content.delta", () => pieces++);
  return { object: (await stream.finalChatCompletion()).choices[0].message.parsed, pieces };
}

async function runResponses(content, options = {}, offered = tools) {
  const input = [{ role: "user", content }];
  const declared = offered.map(({ name, description, schema }) =>
    zodResponsesFunction({ name, description, parameters: schema }),
  );
  const text = [];
  let pieces = 0;
  for (;;) {
    const request = { model, input, tools: declared, store: false, ...options };
    let response;
    if (streamed) {
      const stream = client.responses.stream(request);
      stream.on("response.output_text.delta", () => pieces++);
      response = await stream.finalResponse();
    } else response = await client.responses.parse(request);
    text.push(response.output_text);
    const calls = response.output.filter((item) => item.type === "function_call");
    if (!calls.length) return { text, pieces, object: response.output_parsed };
    input.push(...response.output.map(({ parsed_arguments, ...item }) => item));
    for (const { call_id, name, parsed_arguments } of calls) {
      const output = tools.find((tool) => tool.name === name).run(parsed_arguments);
      input.push({ type: "function_call_output", call_id, output });
    }
  }
}

const asText = { text: { format: zodTextFormat(Report, "report") } };
const scenarios = {
  chat: {
    tools: () => runChat(TOOLS),
    schema: parseChat,
    both: () => runChat(SCHEMA, { response_format: zodResponseFormat(Report, "report") }),
  },
  responses: {
    tools: () => runResponses(TOOLS),
    schema: () => runResponses(SCHEMA, asText, []),
    both: () => runResponses(SCHEMA, asText),
  },
};
await play(scenarios[api]);
