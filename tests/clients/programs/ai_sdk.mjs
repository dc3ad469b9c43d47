// The AI SDK with each of its providers: the loop over tools is its own.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, Output, streamText, tool } from "ai";

import { api, play, Report, SCHEMA, streamed, TOOLS, tools, url } from "./weather.mjs";

const baseURL = `${url}/v1`;
const models = {
  compatible: () => createOpenAICompatible({ name: "toolspeak", baseURL, supportsStructuredOutputs: true })("small"),
  chat: () => createOpenAI({ baseURL, apiKey: "none" }).chat("small"),
  responses: () => createOpenAI({ baseURL, apiKey: "none" }).responses("small"),
  // By a name that it knows: of other models it asks for a schema in another way.
  messages: () => createAnthropic({ baseURL, apiKey: "none" })("claude-sonnet-4-5"),
};

const named = tools.map(({ name, description, schema, run }) => [name, tool({ description, inputSchema: schema, execute: run })]);
const withTools = { tools: Object.fromEntries(named), stopWhen: isStepCount(5) };
const withSchema = { output: Output.object({ schema: Report }) };

async function ask(options) {
  const request = { model: models[api](), maxRetries: 0, ...options };
  if (!streamed) return await generateText(request);
  const result = streamText({ ...request, onError: ({ error }) => { throw error; } });
  let pieces = 0;
  for await (const part of result.fullStream) pieces += part.type === "text-delta" ? 1 : 0;
  return { text: await result.text, steps: await result.steps, output: options.output ? await result.output : null, pieces };
}

await play({
  async tools() {
    const { steps, pieces } = await ask({ prompt: TOOLS, ...withTools });
    return { text: steps.map((step) => step.text), pieces };
  },
  async schema() {
    const { output, pieces } = await ask({ prompt: SCHEMA, ...withSchema });
    return { object: output, pieces };
  },
  async both() {
    const { output, pieces } = await ask({ prompt: SCHEMA, ...withTools, ...withSchema });
    return { object: output, pieces };
  },
});
