// Agent frameworks and SDKs in JavaScript, each as its first page shows it: two tools, and then a second question.
// No option says that nothing is stored: what a framework refers to by an id must be there.

import { api, play, streamed, TOOLS, tools, url } from "./weather.mjs";

const LATER = "Which of the two cities is warmer?";
const baseURL = `${url}/v1`;
process.env.OPENAI_API_KEY = "none";
process.env.OPENAI_BASE_URL = baseURL;

const schemas = tools.map(({ name, description, argument }) => {
  const parameters = { type: "object", properties: { [argument]: { type: "string" } }, required: [argument] };
  return { name, description, parameters };
});

function runTool(name, given) {
  return tools.find((tool) => tool.name === name).run(given);
}

const clients = {
  // The loop over tools is its own; its model is the AI SDK's, in the version that it brings.
  async mastra(questions) {
    const { Agent } = await import("@mastra/core/agent");
    const { createTool } = await import("@mastra/core/tools");
    const { createOpenAI } = await import("@ai-sdk/openai");
    const made = tools.map(({ name, description, schema, run }) => [
      name,
      createTool({ id: name, description, inputSchema: schema, execute: async (input) => run(input.context ?? input) }),
    ]);
    const model = createOpenAI({ baseURL, apiKey: "none" })("small");
    const agent = new Agent({ id: "weather", name: "weather", instructions: "Be brief.", model, tools: Object.fromEntries(made) });
    const messages = [];
    const text = [];
    let pieces = 0;
    for (const question of questions) {
      messages.push({ role: "user", content: question });
      const options = { maxSteps: 5, modelSettings: { maxRetries: 0 } };
      let result;
      if (streamed) {
        result = await agent.stream(messages, options);
        for await (const chunk of result.fullStream) {
          if (chunk.type === "error") throw chunk.payload.error;
          pieces += chunk.type === "text-delta" ? 1 : 0;
        }
      } else {
        result = await agent.generate(messages, options);
      }
      const answer = await result.text;
      text.push(answer);
      messages.push(...(await result.response).messages);
    }
    return { text, pieces };
  },

  async agents(questions) {
    const { Agent, run, setTracingDisabled, tool } = await import("@openai/agents");
    setTracingDisabled(true);
    const made = tools.map(({ name, description, schema, run: execute }) => tool({ name, description, parameters: schema, execute }));
    const agent = new Agent({ name: "weather", model: "small", tools: made });
    const text = [];
    let pieces = 0;
    let previousResponseId;
    for (const question of questions) {
      const result = await run(agent, question, { stream: streamed, previousResponseId });
      if (streamed) {
        for await (const _ of result) pieces += 1;
        await result.completed;
        if (result.error) throw result.error;
      }
      previousResponseId = result.lastResponseId;
      text.push(result.finalOutput);
    }
    return { text, pieces };
  },

  // By the Responses API; the loop over tools is the program's.
  async langchain(questions) {
    const { ChatOpenAI } = await import("@langchain/openai");
    const { HumanMessage, ToolMessage } = await import("@langchain/core/messages");
    const base = { model: "small", apiKey: "none", useResponsesApi: true, maxRetries: 0, configuration: { baseURL } };
    const model = new ChatOpenAI(base).bindTools(schemas.map((each) => ({ type: "function", function: each })));
    const messages = [];
    const text = [];
    let pieces = 0;
    for (const question of questions) {
      messages.push(new HumanMessage(question));
      for (;;) {
        let answer;
        if (streamed) {
          for await (const chunk of await model.stream(messages)) {
            answer = answer ? answer.concat(chunk) : chunk;
            pieces += 1;
          }
        } else {
          answer = await model.invoke(messages);
        }
        messages.push(answer);
        if (!answer.tool_calls?.length) {
          text.push(answer.text);
          break;
        }
        for (const { id, name, args } of answer.tool_calls) {
          messages.push(new ToolMessage({ tool_call_id: id, content: runTool(name, args) }));
        }
      }
    }
    return { text, pieces };
  },

  async genai(questions) {
    const { GoogleGenAI } = await import("@google/genai");
    const ai = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: url, retryOptions: { attempts: 1 } } });
    const chat = ai.chats.create({ model: "small", config: { tools: [{ functionDeclarations: schemas.map(toGoogle) }] } });
    return await talkToGoogle(questions, async (message) => {
      if (!streamed) {
        const answer = await chat.sendMessage({ message });
        return { text: answer.text ?? "", calls: answer.functionCalls ?? [], pieces: 0 };
      }
      const got = { text: "", calls: [], pieces: 0 };
      for await (const chunk of await chat.sendMessageStream({ message })) {
        got.text += chunk.text ?? "";
        got.calls.push(...(chunk.functionCalls ?? []));
        got.pieces += 1;
      }
      return got;
    });
  },

  // The SDK before @google/genai, which many programs still use.
  async generative(questions) {
    const { GoogleGenerativeAI } = await import("@google/generative-ai");
    const model = new GoogleGenerativeAI("none").getGenerativeModel(
      { model: "small", tools: [{ functionDeclarations: schemas.map(toGoogle) }] },
      { baseUrl: url },
    );
    const chat = model.startChat();
    return await talkToGoogle(questions, async (message) => {
      if (!streamed) {
        const { response } = await chat.sendMessage(message);
        return { text: response.text(), calls: response.functionCalls() ?? [], pieces: 0 };
      }
      const got = { text: "", calls: [], pieces: 0 };
      const { stream } = await chat.sendMessageStream(message);
      for await (const chunk of stream) {
        got.text += chunk.text();
        got.calls.push(...(chunk.functionCalls() ?? []));
        got.pieces += 1;
      }
      return got;
    });
  },
};

function toGoogle({ name, description, parameters }) {
  const properties = Object.fromEntries(Object.keys(parameters.properties).map((key) => [key, { type: "STRING" }]));
  return { name, description, parameters: { type: "OBJECT", properties, required: parameters.required } };
}

async function talkToGoogle(questions, send) {
  const text = [];
  let pieces = 0;
  for (const question of questions) {
    let message = question;
    for (;;) {
      const got = await send(message);
      pieces += got.pieces;
      if (!got.calls.length) {
        text.push(got.text);
        break;
      }
      message = got.calls.map(({ id, name, args }) => ({
        functionResponse: { ...(id && api === "genai" ? { id } : {}), name, response: { output: runTool(name, args) } },
      }));
    }
  }
  return { text, pieces };
}

await play({
  tools: () => clients[api]([TOOLS, LATER]),
  cut: () => clients[api]([TOOLS]),
});
