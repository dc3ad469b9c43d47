// Anthropic's SDK for Node, with its tool runner.

import Anthropic from "@anthropic-ai/sdk";
import { betaZodOutputFormat, betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";

import { play, Report, SCHEMA, streamed, TOOLS, tools, url } from "./weather.mjs";

const client = new Anthropic({ baseURL: url, apiKey: "none", maxRetries: 0 });
const base = { model: "small", max_tokens: 500 };
const withSchema = { output_config: { format: betaZodOutputFormat(Report) } };

const textOf = (message) => message.content.map((block) => (block.type === "text" ? block.text : "")).join("");

async function run(content, options = {}) {
  const runnable = tools.map(({ name, description, schema, run }) =>
    betaZodTool({ name, description, inputSchema: schema, run }),
  );
  const messages = [{ role: "user", content }];
  const runner = client.beta.messages.toolRunner({ ...base, ...options, messages, tools: runnable, stream: streamed });
  const text = [];
  let pieces = 0;
  let last;
  for await (const turn of runner) {
    if (streamed) for await (const event of turn) pieces += event.delta?.type === "text_delta" ? 1 : 0;
    last = streamed ? await turn.finalMessage() : turn;
    text.push(textOf(last));
  }
  return { text, pieces, object: options.output_config ? (last.parsed_output ?? JSON.parse(textOf(last))) : null };
}

await play({
  tools: () => run(TOOLS),
  both: () => run(SCHEMA, withSchema),
  async schema() {
    const request = { ...base, ...withSchema, messages: [{ role: "user", content: SCHEMA }] };
    if (!streamed) return { object: (await client.beta.messages.parse(request)).parsed_output };
    const stream = client.beta.messages.stream(request);
    let pieces = 0;
    stream.on("text", () => pieces++);
    return { object: (await stream.finalMessage()).parsed_output, pieces };
  },
});
